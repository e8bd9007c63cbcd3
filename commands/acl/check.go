package acl

import "github.com/vigildb/vigil/commands"

// Reason is why a call is refused. A greater one says more about it: that the
// command is allowed but not its channels.
type Reason uint8

const (
	DeniedCommand Reason = iota
	DeniedDatabase
	DeniedKey
	DeniedAuth // no such user, wrong password, or disabled
	DeniedChannel
	DeniedCertificate // it names no user that is enabled
)

// reasonWords are the reasons as ACL LOG shows them.
var reasonWords = [...]string{"command", "database", "key", "auth", "channel", "tls-cert"}

// Denial says what a user may not do.
type Denial struct {
	Reason Reason
	// Index is that of the argument that names the key, the channel or the database; 0 stands for the command, and
	// for the database of the connection.
	Index int
}

// Check returns nil if the rules allow a call of a connection with a database, else what they do
// not allow. Of several selectors the one counts that came furthest.
func (r *Rules) Check(db int, cmd *commands.Command, argv [][]byte) *Denial {
	if r.everything {
		return nil
	}
	var room [8]commands.KeyRef
	keys := keyCache{keys: room[:0]}
	worst := Denial{}
	for i := range r.selectors {
		var d Denial
		var ok bool
		if d, ok, keys = r.selectors[i].check(db, cmd, argv, keys); ok {
			return nil
		}
		if d.Reason > worst.Reason || d.Reason == worst.Reason && d.Index > worst.Index {
			worst = d
		}
	}
	d := worst // a copy, so that a call that is allowed allocates nothing
	return &d
}

// ReadsAll reports whether a selector that allows the call may read every key.
func (r *Rules) ReadsAll(db int, cmd *commands.Command, argv [][]byte) bool {
	if r.everything {
		return true
	}
	var keys keyCache
	for i := range r.selectors {
		s := &r.selectors[i]
		var ok bool
		if _, ok, keys = s.check(db, cmd, argv, keys); ok && s.readsAll() {
			return true
		}
	}
	return false
}

// MayReceive reports whether the rules allow a subscription to a channel, or to a
// pattern, which must be one of theirs word for word.
func (r *Rules) MayReceive(name []byte, isPattern bool) bool {
	for i := range r.selectors {
		if r.selectors[i].mayUse(name, isPattern) {
			return true
		}
	}
	return false
}

// keyCache is the keys of a call, once a selector has asked for them. It is passed from
// selector to selector by value, so that the compiler leaves it on the stack.
type keyCache struct {
	keys  []commands.KeyRef
	found bool
}

func (s *selector) check(db int, cmd *commands.Command, argv [][]byte, keys keyCache) (d Denial, ok bool, found keyCache) {
	if !s.allCommands && !cmd.Is(commands.NoAuth) && !s.allows(cmd, argv) {
		return Denial{}, false, keys
	}
	if s.someDatabases {
		if d, ok := s.checkDatabases(db, cmd, argv); !ok {
			return d, false, keys
		}
	}
	if !s.allKeys && len(cmd.Keys) > 0 {
		if !keys.found {
			keys.keys, keys.found = cmd.AppendAccess(keys.keys, argv), true
		}
		for _, k := range keys.keys {
			if k.Flags&commands.NotKey == 0 && !s.mayTouch(argv[k.Index], needed(k.Flags)) {
				return Denial{Reason: DeniedKey, Index: k.Index}, false, keys
			}
		}
	}
	if !s.allChannels && cmd.Channels != commands.NoChannels {
		names := argv[1:]
		if cmd.Channels == commands.FirstChannel {
			names = names[:min(1, len(names))]
		}
		for i, name := range names {
			if !s.mayUse(name, cmd.Channels == commands.AllPatterns) {
				return Denial{Reason: DeniedChannel, Index: i + 1}, false, keys
			}
		}
	}
	return Denial{}, true, keys
}

// allows reports whether the command is allowed, perhaps with this first argument only.
func (s *selector) allows(cmd *commands.Command, argv [][]byte) bool {
	if s.allowed.has(cmd.ID()) {
		return true
	}
	if len(s.firstArgs) == 0 || len(argv) < 2 {
		return false
	}
	for _, word := range s.firstArgs[cmd.ID()] {
		if equalFold(argv[1], word) {
			return true
		}
	}
	return false
}

// needed translates what a command does to a key.
func needed(f commands.KeyFlag) (need permission) {
	if f&commands.Access != 0 {
		need |= readKeys
	}
	if f&(commands.Insert|commands.Delete|commands.Update) != 0 {
		need |= writeKeys
	}
	return need
}

// mayTouch reports whether a pattern matches the key that grants all of need.
func (s *selector) mayTouch(key []byte, need permission) bool {
	for i := range s.keys {
		if p := &s.keys[i]; p.may&need == need && p.matches(key) {
			return true
		}
	}
	return false
}

func (s *selector) readsAll() bool {
	if s.allKeys {
		return true
	}
	for i := range s.keys {
		if p := &s.keys[i]; p.may&readKeys != 0 && p.text == "*" {
			return true
		}
	}
	return false
}

// mayUse reports whether the selector allows a channel, or a pattern of channels.
func (s *selector) mayUse(name []byte, isPattern bool) bool {
	if s.allChannels {
		return true
	}
	for i := range s.channels {
		p := &s.channels[i]
		if isPattern && p.text == string(name) || !isPattern && p.matches(name) {
			return true
		}
	}
	return false
}

// equalFold compares with a word in lower case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
