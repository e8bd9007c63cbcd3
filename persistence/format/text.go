package format

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// A store keeps texts by name beside its keys:
//
//	'd' | group (2) | name  ->  crc32c of name and value (4) | value of a directive
//	'l' | group (2) | name  ->  crc32c of name and source (4) | source of a library
//	's' | group (2) | name  ->  crc32c of name and text (4) | text of a move of slots
//	'u' | group (2) | name  ->  crc32c of name and rules (4) | rules of a user
//
// A TextKind is one of these. An operation of a record sets or removes a text, or all of
// a kind, as a whole.
type TextKind struct {
	What   string // they are, for errors
	Prefix byte   // of their keys
	Op     byte   // of their changes
	empty  bool   // an operation may remove all
}

// TextKindOf returns the kind that an operation changes, whose what is empty if the
// operation is about no text.
func TextKindOf(op byte) TextKind {
	switch op {
	case OpLibrary:
		return TextKind{What: "library", Prefix: PrefixLibrary, Op: op, empty: true}
	case OpUser:
		return TextKind{What: "user", Prefix: PrefixUser, Op: op}
	case OpConfiguration:
		return TextKind{What: "directive", Prefix: PrefixConfiguration, Op: op}
	case OpMove:
		return TextKind{What: "move", Prefix: PrefixMove, Op: op}
	}
	return TextKind{}
}

// AppendTextKey appends the key of a text.
func AppendTextKey(dst []byte, prefix byte, name string) []byte {
	return append(AppendGroup(dst, prefix), name...)
}

// AppendText appends the value of the key of a text.
func AppendText(dst []byte, name, text string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, textSum(name, text))
	return append(dst, text...)
}

func textSum(name, text string) uint32 {
	return Checksum(Checksum(0, []byte(name)), []byte(text))
}

// Decode reads a key and its value.
func (k TextKind) Decode(key, value []byte) (name, text string, err error) {
	name = string(key[groupKeyFixed:])
	if len(value) < 4 || binary.LittleEndian.Uint32(value) != textSum(name, string(value[4:])) {
		return "", "", fmt.Errorf("checksum of %s %.100q: %w", k.What, name, ErrCorrupt)
	}
	return name, string(value[4:]), nil
}

// textChange is what an operation does.
type textChange struct {
	Name string
	Text *string // nil: the text is gone
	All  bool    // all texts of the kind are gone
}

// DecodeChange reads the arguments of an operation.
func (k TextKind) DecodeChange(args *structures.Args) (c textChange, err error) {
	switch n := args.Left(); {
	case n == 0 && k.empty:
		c.All = true
	case n == 1:
		c.Name = string(args.Bytes())
	case n == 2:
		c.Name = string(args.Bytes())
		text := string(args.Bytes())
		c.Text = &text
	default:
		return c, fmt.Errorf("a change of %s %.100q with %d arguments: %w", k.What, args.Bytes(), n, ErrCorrupt)
	}
	return c, args.Done()
}
