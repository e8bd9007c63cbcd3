package commands

import "strings"

// KeyFlag says what a command does to a key, in Redis's terms.
type KeyFlag uint16

const (
	RO           KeyFlag = 1 << iota // reads the value
	RW                               // reads and changes it
	OW                               // overwrites it
	RM                               // removes the key
	Access                           // returns data of the value
	Update                           // changes data of the value
	Insert                           // adds data
	Delete                           // removes data
	NotKey                           // the argument is routed like a key but is none
	Incomplete                       // not every key is found
	VariableKeys                     // flags depend on the arguments
)

var keyFlagNames = []struct {
	flag KeyFlag
	name string
}{
	{RO, "RO"}, {RW, "RW"}, {OW, "OW"}, {RM, "RM"}, {Access, "access"}, {Update, "update"},
	{Insert, "insert"}, {Delete, "delete"}, {NotKey, "not_key"}, {Incomplete, "incomplete"},
	{VariableKeys, "variable_flags"},
}

// Names lists the flags as COMMAND GETKEYSANDFLAGS shows them.
func (f KeyFlag) Names() []string {
	var names []string
	for _, n := range keyFlagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// KeySpec says where keys stand among the arguments of a command, in the
// manner of Redis's key specifications: where to begin, and how to go on.
type KeySpec struct {
	Flags KeyFlag

	// Begin is the index of the first candidate (the name is 0). With a Keyword
	// the search for that word starts there instead, from the end backwards if
	// Begin is negative, and keys begin after the word.
	Begin   int
	Keyword string

	// Last is the index of the last key relative to Begin; negative counts
	// from the end (-1 the last argument). Step is the distance between keys.
	// Limit n > 1 takes only the first n-th part of what remains.
	Last, Step, Limit int

	// Numbered: Begin is the index of the number of keys, and the keys follow
	// FirstAfter places after it.
	Numbered   bool
	FirstAfter int

	// Seek, if set, finds where keys begin in the way of the handler, for commands before whose
	// Keyword another argument may have the same name. It returns -1 for a call that is a syntax
	// error, whose keys are those behind the Keyword.
	Seek func(argv [][]byte) int

	// Find, if set, returns the indexes of the keys in a way of its own: they stand
	// where no other rule finds them, or in values. COMMAND shows the Keyword or Begin, and
	// calls a spec with neither unknown.
	Find func(argv [][]byte) []int

	// Vary, if set, returns what a call does to the keys. Flags has VariableKeys then.
	Vary func(argv [][]byte) KeyFlag
}

// Key is the one key at index i.
func Key(i int, f KeyFlag) KeySpec { return KeySpec{Flags: f, Begin: i, Step: 1} }

// KeyRange is keys from index first to last (negative: from the end), every
// step arguments.
func KeyRange(first, last, step int, f KeyFlag) KeySpec {
	if last >= 0 {
		last -= first
	}
	return KeySpec{Flags: f, Begin: first, Last: last, Step: step}
}

// KeyCount is a number of keys at index i and the keys after it.
func KeyCount(i int, f KeyFlag) KeySpec {
	return KeySpec{Flags: f, Begin: i, Numbered: true, FirstAfter: 1, Step: 1}
}

// KeyRef is one key found in the arguments of a call.
type KeyRef struct {
	Index int
	Flags KeyFlag
}

// AppendKeys appends the keys of a call to dst. A call whose arguments do not
// fit (a number of keys out of range, say) gives the keys found before.
func (c *Command) AppendKeys(dst []KeyRef, argv [][]byte) []KeyRef {
	if k := c.onlyKey; 0 < k && k < len(argv) {
		return append(dst, KeyRef{Index: k, Flags: c.Keys[0].Flags})
	}
	return c.appendKeys(dst, argv)
}

func (c *Command) appendKeys(dst []KeyRef, argv [][]byte) []KeyRef {
	for i := range c.Keys {
		dst = c.Keys[i].append(dst, argv)
	}
	return dst
}

// isOne reports whether the spec is of one key that always stands at Begin.
func (k *KeySpec) isOne() bool {
	return k.Find == nil && k.Keyword == "" && !k.Numbered && k.Last == 0 && k.Begin > 0
}

// AppendAccess is AppendKeys with the flags of this very call, where these depend
// on its arguments.
func (c *Command) AppendAccess(dst []KeyRef, argv [][]byte) []KeyRef {
	for i := range c.Keys {
		from := len(dst)
		dst = c.Keys[i].append(dst, argv)
		if vary := c.Keys[i].Vary; vary != nil {
			flags := vary(argv)
			for j := range dst[from:] {
				dst[from+j].Flags = flags
			}
		}
	}
	return dst
}

// namesKeys reports whether calls name keys, and not only what is routed like them.
func (c *Command) namesKeys() bool {
	for i := range c.Keys {
		if c.Keys[i].Flags&NotKey == 0 {
			return true
		}
	}
	return false
}

// countsFit reports whether the numbers of keys in a call are those of arguments that
// follow them.
func (c *Command) countsFit(argv [][]byte) bool {
	for i := range c.Keys {
		k := &c.Keys[i]
		if !k.Numbered || k.Find != nil {
			continue
		}
		if first := k.start(argv); first >= 0 && k.count(argv, first) == 0 {
			return false
		}
	}
	return true
}

// start is where the keys of the spec begin in a call, or their number stands, or -1 without the
// keyword.
func (k *KeySpec) start(argv [][]byte) int {
	if k.Seek != nil {
		if first := k.Seek(argv); first >= 0 {
			return first
		}
	}
	if k.Keyword != "" {
		return k.find(argv)
	}
	return k.Begin
}

// count reads the number of keys at first, which is 0 unless so many arguments follow.
func (k *KeySpec) count(argv [][]byte, first int) int {
	if first >= len(argv) {
		return 0
	}
	n, ok := ParseInt(argv[first])
	if !ok || n <= 0 || n > int64(len(argv)) || first+k.FirstAfter+(int(n)-1)*k.Step >= len(argv) {
		return 0
	}
	return int(n)
}

func (k *KeySpec) append(dst []KeyRef, argv [][]byte) []KeyRef {
	if k.Find != nil {
		for _, i := range k.Find(argv) {
			dst = append(dst, KeyRef{Index: i, Flags: k.Flags})
		}
		return dst
	}
	first := k.start(argv)
	if first < 0 {
		return dst
	}
	last := 0
	switch {
	case k.Numbered:
		n := k.count(argv, first)
		if n == 0 {
			return dst
		}
		first += k.FirstAfter
		last = first + (n-1)*k.Step
	case k.Last >= 0:
		last = first + k.Last
	default:
		last = len(argv) + k.Last
		if k.Limit > 1 {
			last = first + (len(argv)-first)/k.Limit + k.Last
		}
	}
	for i := first; i <= last && i < len(argv); i += k.Step {
		dst = append(dst, KeyRef{Index: i, Flags: k.Flags})
	}
	return dst
}

// find returns the index behind the keyword, or -1.
func (k *KeySpec) find(argv [][]byte) int {
	if k.Begin >= 0 {
		for i := k.Begin; i < len(argv)-1; i++ {
			if strings.EqualFold(string(argv[i]), k.Keyword) {
				return i + 1
			}
		}
		return -1
	}
	for i := len(argv) + k.Begin; i > 0; i-- {
		if strings.EqualFold(string(argv[i]), k.Keyword) {
			return i + 1
		}
	}
	return -1
}

// Positions gives the first, last and step of COMMAND INFO's old style: the
// range of the first spec, widened by the later ones that continue it.
func (c *Command) Positions() (first, last, step int) {
	for i, k := range c.Keys {
		if k.Keyword != "" || k.Numbered || k.Begin == 0 {
			continue
		}
		l := k.Last
		if l >= 0 {
			l += k.Begin
		}
		if i == 0 || first == 0 {
			first, last, step = k.Begin, l, max(k.Step, 1)
			continue
		}
		if last >= 0 && k.Begin == last+1 {
			last = l
		}
	}
	return first, last, step
}

// AtMostOneKey reports whether a call has one key, or none, by the first look: false says
// nothing.
func (c *Command) AtMostOneKey(argv [][]byte) bool {
	if len(c.Keys) != 1 {
		return false
	}
	k := &c.Keys[0]
	if k.Find != nil || k.Keyword != "" || k.Numbered {
		return false
	}
	if k.Last < 0 {
		return len(argv)+k.Last <= k.Begin
	}
	return k.Last == 0
}
