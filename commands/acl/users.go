package acl

import (
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vigildb/vigil/commands"
)

// maxUsers is the most users that there may be.
const maxUsers = 100000

// defaultName is the user of clients that have not authenticated as another.
const defaultName = "default"

// Users is all users of a server. Its methods are safe for concurrent use.
type Users struct {
	catalog     *catalog
	allChannels func() bool // acl-pubsub-default
	deflt       *User       // is always in byName

	mu       sync.RWMutex
	byName   map[string]*User  // guarded by mu
	declared map[string]*Rules // see Remember; guarded by mu
}

// NewUsers makes the users of a new server: the default user, who may do everything
// without a password. Users and selectors that are made later may use all channels
// if allChannels returns true.
func NewUsers(t *commands.Table, allChannels func() bool) *Users {
	us := &Users{catalog: newCatalog(t), allChannels: allChannels, byName: map[string]*User{}}
	us.deflt = newUser(defaultName, us.initial())
	us.byName[defaultName] = us.deflt
	return us
}

// initial are the rules of the default user when nobody has changed them.
func (us *Users) initial() *Rules {
	r := newRules(us.catalog, true)
	r.enabled, r.noPass = true, true
	r.selectors[0].allKeys = true
	r.selectors[0].setAll(true)
	r.seal()
	return r
}

// Default is the user of clients that have not authenticated as another.
func (us *Users) Default() *User { return us.deflt }

// Find returns the user of that name, or nil.
func (us *Users) Find(name string) *User {
	us.mu.RLock()
	defer us.mu.RUnlock()
	return us.byName[name]
}

// List is all users by name.
func (us *Users) List() []*User {
	us.mu.RLock()
	defer us.mu.RUnlock()
	return slices.SortedFunc(maps.Values(us.byName), func(a, b *User) int { return strings.Compare(a.name, b.name) })
}

// Lines is all users as ACL LIST shows them and files hold them, by name.
func (us *Users) Lines() []string {
	var lines []string
	for _, u := range us.List() {
		lines = append(lines, "user "+u.name+" "+u.Rules().String())
	}
	return lines
}

// LinesBeside is Lines for a configuration file that has this requirepass: without the
// default user if requirepass alone makes it.
func (us *Users) LinesBeside(password string) []string {
	plain := us.initial()
	plain.setPassword(password)
	lines := us.Lines()
	return slices.DeleteFunc(lines, func(line string) bool { return line == "user "+defaultName+" "+plain.String() })
}

// Unlisted makes a user that is in no list and cannot authenticate.
func (us *Users) Unlisted(name string, rules []string) (*User, error) {
	r := newRules(us.catalog, false)
	if err := us.apply(r, rules); err != nil {
		return nil, err
	}
	return newUser(name, r), nil
}

// Authenticate returns the user if the password is right and the user enabled, else
// nil. An unknown user takes as long as a wrong password.
func (us *Users) Authenticate(name, password []byte) *User {
	d := digest(sha256.Sum256(password))
	u, rules := us.Find(string(name)), nothing
	if u != nil {
		rules = u.Rules()
	}
	if !rules.admits(d) {
		return nil
	}
	return u
}

// Admits reports whether a client with this password may authenticate as the user.
func (u *User) Admits(password []byte) bool { return u.Rules().admits(sha256.Sum256(password)) }

// Set applies rules to a user, creating it if needed: all rules or none.
func (us *Users) Set(name string, rules []string, keep Keep) error {
	us.mu.Lock()
	defer us.mu.Unlock()
	u, r := us.byName[name], (*Rules)(nil)
	switch {
	case u != nil:
		r = u.Rules().clone()
	case len(us.byName) >= maxUsers:
		return errTooManyUsers
	default:
		r = newRules(us.catalog, us.allChannels())
	}
	if err := us.apply(r, rules); err != nil {
		return err
	}
	_, err := us.changeLocked(map[string]*Rules{name: r}, keep)
	return err
}

// SetPassword gives the default user this password alone, or none if it is empty:
// what requirepass does.
func (us *Users) SetPassword(password string, keep Keep) error {
	us.mu.Lock()
	defer us.mu.Unlock()
	r := us.deflt.Rules().clone()
	r.setPassword(password)
	_, err := us.changeLocked(map[string]*Rules{defaultName: r}, keep)
	return err
}

func (r *Rules) setPassword(password string) {
	r.passwords, r.noPass = nil, password == ""
	if password != "" {
		r.passwords = []digest{sha256.Sum256([]byte(password))}
	}
}

// Delete removes users and returns those that there were. Clients that still hold one
// may do nothing from now on.
func (us *Users) Delete(names []string, keep Keep) (deleted []*User, err error) {
	us.mu.Lock()
	defer us.mu.Unlock()
	rules := map[string]*Rules{}
	for _, name := range names {
		if u := us.byName[name]; u != nil && u != us.deflt {
			rules[name] = nil
		}
	}
	return us.changeLocked(rules, keep)
}

func (us *Users) deleteLocked(u *User) {
	delete(us.byName, u.name)
	u.rules.Store(nothing)
}

// Declare makes the user that the words of a "user" line after the first declare. The
// line of the default user replaces its rules. seen has the names that earlier lines
// declared.
func (us *Users) Declare(words []string, seen map[string]bool) error {
	name := words[0]
	switch {
	case seen[name]:
		return errDuplicateUser
	case hasSpaces(name):
		return errUserName
	}
	seen[name] = true
	us.mu.Lock()
	defer us.mu.Unlock()
	if len(us.byName) >= maxUsers {
		return errTooManyUsers
	}
	r := newRules(us.catalog, us.allChannels())
	if err := us.apply(r, words[1:]); err != nil {
		return plain(err)
	}
	if name == defaultName {
		us.deflt.rules.Store(r)
		return nil
	}
	us.byName[name] = newUser(name, r)
	return nil
}

// plain is an error about rules without words of them, which may be passwords. Names
// of commands and categories are none.
func plain(err error) error {
	var bad *ruleError
	var unmatched unmatchedError
	switch {
	case errors.As(err, &bad) && bad.why == errUnknownName && bad.rule[0] != '(':
		return err
	case errors.As(err, &bad):
		return bad.why
	case errors.As(err, &unmatched):
		return mistake("Unmatched parenthesis in selector definition.")
	}
	return err
}
