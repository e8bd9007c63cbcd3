package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"
)

// User is somebody whom clients authenticate as. It stays the same when its rules
// change.
type User struct {
	name  string
	rules atomic.Pointer[Rules]
}

// Name is the user's name.
func (u *User) Name() string { return u.name }

// Enabled reports whether clients may be the user.
func (u *User) Enabled() bool { return u.Rules().enabled }

// Rules are the present ones.
func (u *User) Rules() *Rules { return u.rules.Load() }

func newUser(name string, r *Rules) *User {
	u := &User{name: name}
	u.rules.Store(r)
	return u
}

// digest is the SHA-256 of a password.
type digest [sha256.Size]byte

// Rules are what a user may do. They never change once they are a user's.
type Rules struct {
	enabled         bool
	noPass          bool // every password is right
	skipsSanitizing bool // of RESTORE; it is kept and shown, and payloads are checked nevertheless
	passwords       []digest
	selectors       []selector // the user's own first

	everything bool // see Everything
}

// nothing are the rules of a deleted user.
var nothing = &Rules{}

// Everything reports whether the rules allow every call.
func (r *Rules) Everything() bool { return r.everything }

// Open reports whether the user needs no password: clients are the default user
// without AUTH if this user is open.
func (r *Rules) Open() bool { return r.enabled && r.noPass }

// NoPass reports whether every password is right.
func (r *Rules) NoPass() bool { return r.noPass }

// admits reports whether the password is right and the user enabled. It takes the
// same time for each password and looks at all of them.
func (r *Rules) admits(password digest) bool {
	right := 0
	for i := range r.passwords {
		right |= subtle.ConstantTimeCompare(r.passwords[i][:], password[:])
	}
	return r.enabled && (r.noPass || right == 1)
}

// newRules are those of a user that was just created: disabled, and nothing is allowed.
func newRules(cat *catalog, allChannels bool) *Rules {
	return &Rules{selectors: []selector{newSelector(cat, allChannels)}}
}

// clone copies all that a rule may change.
func (r *Rules) clone() *Rules {
	c := *r
	c.passwords = slices.Clone(r.passwords)
	c.selectors = make([]selector, len(r.selectors))
	for i := range r.selectors {
		c.selectors[i] = r.selectors[i].clone()
	}
	return &c
}

// seal derives what Check looks at first.
func (r *Rules) seal() {
	r.everything = slices.ContainsFunc(r.selectors, func(s selector) bool { return s.everything() })
}

// flags are the words that ACL GETUSER shows.
func (r *Rules) flags() []string {
	flags := []string{"off"}
	if r.enabled {
		flags[0] = "on"
	}
	if r.noPass {
		flags = append(flags, "nopass")
	}
	if r.skipsSanitizing {
		return append(flags, "skip-sanitize-payload")
	}
	return append(flags, "sanitize-payload")
}

// String is the rules as ACL LIST shows them and a file holds them.
func (r *Rules) String() string {
	words := r.flags()
	for i := range r.passwords {
		words = append(words, "#"+hex.EncodeToString(r.passwords[i][:]))
	}
	for i := range r.selectors {
		text := r.selectors[i].String()
		if i > 0 {
			text = "(" + text + ")"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}
