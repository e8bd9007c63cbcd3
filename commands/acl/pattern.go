package acl

import (
	"bytes"
	"strings"

	"github.com/vigildb/vigil/structures/glob"
)

// shape is the kind of a pattern. Most patterns are simple, and are then compared and
// not matched.
type shape uint8

const (
	exact  shape = iota // no special byte
	prefix              // ends with the only star
	general
)

// pattern is a glob pattern for keys or channels.
type pattern struct {
	text  string
	shape shape
}

func newPattern(text string) pattern {
	p := pattern{text: text, shape: general}
	head, star := strings.CutSuffix(text, "*")
	switch {
	case glob.Literal([]byte(text)):
		p.shape = exact
	case star && head != "" && glob.Literal([]byte(head)):
		p.shape = prefix
	}
	return p
}

// matches reports whether the pattern matches the whole name.
func (p *pattern) matches(name []byte) bool {
	switch p.shape {
	case exact:
		return string(name) == p.text
	case prefix:
		// No empty name gets here: the head of the pattern is not empty.
		return len(name) >= len(p.text)-1 && string(name[:len(p.text)-1]) == p.text[:len(p.text)-1]
	}
	return glob.Match([]byte(p.text), name)
}

// permission is what may be done to the keys of a pattern.
type permission uint8

const (
	readKeys permission = 1 << iota
	writeKeys
	readWrite = readKeys | writeKeys
)

// keyPattern is a rule such as ~cache:* or %R~config:*.
type keyPattern struct {
	pattern
	may permission
}

// String is the rule that makes the pattern.
func (k *keyPattern) String() string {
	switch k.may {
	case readKeys:
		return "%R~" + k.text
	case writeKeys:
		return "%W~" + k.text
	}
	return "~" + k.text
}

// hasSpaces reports whether a name would break the lines of ACL LIST and of files.
func hasSpaces(s string) bool { return bytes.ContainsAny([]byte(s), " \t\n\v\f\r\x00") }
