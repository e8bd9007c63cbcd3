package acl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// selector is one set of permissions: a call needs one selector that allows its
// command, all of its keys and all of its channels.
type selector struct {
	allCommands bool // nothing was removed since +@all
	allKeys     bool
	allChannels bool

	future    bool // the command rules begin with +@all, not -@all
	allowed   bitmap
	firstArgs map[int][]string // by row: first arguments in lower case with which a command that is not allowed is
	rules     []string         // about commands, in order: "+get", "-@admin"

	keys     []keyPattern
	channels []pattern

	someDatabases bool // only those of databases
	databases     []int
}

// bitmap has a bit for each row of the command table.
type bitmap []uint64

func (b bitmap) has(id int) bool { return b[id/64]&(1<<(id%64)) != 0 }

func (b bitmap) set(id int, on bool) {
	if on {
		b[id/64] |= 1 << (id % 64)
	} else {
		b[id/64] &^= 1 << (id % 64)
	}
}

func (b bitmap) fill(word uint64) {
	for i := range b {
		b[i] = word
	}
}

// newSelector makes a selector that allows nothing but, perhaps, all channels.
func newSelector(cat *catalog, allChannels bool) selector {
	return selector{allowed: make(bitmap, (len(cat.rows)+63)/64), allChannels: allChannels}
}

// clone copies all that a rule may change.
func (s *selector) clone() selector {
	c := *s
	c.allowed = slices.Clone(s.allowed)
	c.rules = slices.Clone(s.rules)
	c.keys = slices.Clone(s.keys)
	c.channels = slices.Clone(s.channels)
	c.databases = slices.Clone(s.databases)
	c.firstArgs = nil
	for id, words := range s.firstArgs {
		for _, word := range words {
			c.allowFirstArg(id, word)
		}
	}
	return c
}

// everything reports whether no call can be refused.
func (s *selector) everything() bool {
	return s.allCommands && s.allKeys && s.allChannels && !s.someDatabases
}

// setAll is +@all or -@all.
func (s *selector) setAll(on bool) {
	word := uint64(0)
	if on {
		word = ^word
	}
	s.allowed.fill(word)
	s.allCommands, s.future = on, on
	s.rules, s.firstArgs = nil, nil
}

// setCommand allows or forbids a command, and with a container its subcommands.
func (s *selector) setCommand(cmd *commands.Command, on bool) {
	s.allowed.set(cmd.ID(), on)
	delete(s.firstArgs, cmd.ID())
	for _, sub := range cmd.Subcommands() {
		s.allowed.set(sub.ID(), on)
	}
	if !on {
		s.allCommands = false
	}
}

// allowFirstArg allows a command with one first argument.
func (s *selector) allowFirstArg(id int, word string) {
	if s.firstArgs == nil {
		s.firstArgs = map[int][]string{}
	}
	if !slices.Contains(s.firstArgs[id], word) {
		s.firstArgs[id] = append(s.firstArgs[id], word)
	}
}

// remember records a rule about commands in place of earlier rules about the same
// command or category, and about its subcommands.
func (s *selector) remember(on bool, what string) {
	what = strings.ToLower(what)
	s.rules = slices.DeleteFunc(s.rules, func(rule string) bool {
		rest, ok := strings.CutPrefix(rule[1:], what)
		return ok && (rest == "" || rest[0] == '|')
	})
	sign := "-"
	if on {
		sign = "+"
	}
	s.rules = append(s.rules, sign+what)
}

// commandRules describes the commands as rules that make them.
func (s *selector) commandRules() string {
	first := "-@all"
	if s.future {
		first = "+@all"
	}
	return strings.Join(append([]string{first}, s.rules...), " ")
}

// keyRules describes the key patterns.
func (s *selector) keyRules() string {
	if s.allKeys {
		return "~*"
	}
	var rules []string
	for i := range s.keys {
		rules = append(rules, s.keys[i].String())
	}
	return strings.Join(rules, " ")
}

// channelRules describes the channel patterns.
func (s *selector) channelRules() string {
	if s.allChannels {
		return "&*"
	}
	var rules []string
	for _, p := range s.channels {
		rules = append(rules, "&"+p.text)
	}
	return strings.Join(rules, " ")
}

// String is the selector as ACL LIST shows it.
func (s *selector) String() string {
	var b strings.Builder
	if keys := s.keyRules(); keys != "" {
		b.WriteString(keys + " ")
	}
	if !s.allChannels {
		b.WriteString("resetchannels ")
	}
	if channels := s.channelRules(); channels != "" {
		b.WriteString(channels + " ")
	}
	if s.someDatabases {
		b.WriteString(cmp.Or(s.databaseRules(), "resetdbs") + " ")
	}
	return b.String() + s.commandRules()
}
