package conf

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Config holds the values of all directives. Its methods are safe for
// concurrent use.
type Config struct {
	rows  []directive    // in the order of the table
	index map[string]int // row by name and alias, lower case
	// file is the absolute path of the configuration file, or empty.
	file string
	seen map[int]bool // rows that were set while it was loaded
	// throwAway goes to Settings.ThrowAway.
	throwAway bool
	warnings  []string

	settings atomic.Pointer[Settings]

	// rewriting is held by Rewrite. It is taken before mu, which waits for no file.
	rewriting sync.Mutex

	// mu is held while values change and while hooks run, so changes are seen
	// by hooks in one order. Hooks must not call methods that take it.
	mu struct {
		sync.Mutex
		values  []value       // by row; a value is never changed in place
		own     map[int]value // of this member, where values has one of its group
		renames []Rename
		users   []UserLine
		// describe, if set, returns the user lines of a rewritten file.
		describe func() []string
		checks   []check
		watches  []watch
	}
}

// check is a hook that may refuse a change.
type check struct {
	rows []int
	ask  func(old, new *Settings) error
}

// watch is a hook that is called after a change.
type watch struct {
	rows []int
	tell func(*Settings)
}

// Pair is the name and the value of a directive.
type Pair struct{ Name, Value string }

// New returns a Config in which everything has its default. The default of
// "dir" is the working directory.
func New() *Config {
	c := &Config{index: make(map[string]int)}
	for _, s := range sections() {
		c.rows = append(c.rows, s.rows...)
	}
	c.mu.values, c.mu.own = make([]value, len(c.rows)), make(map[int]value)
	for i := range c.rows {
		r := &c.rows[i]
		c.index[r.name] = i
		if r.alias != "" {
			c.index[r.alias] = i
		}
		v, err := r.parse(value{}, r.def, false)
		if err != nil {
			// The working directory was removed, or a row of the table is wrong, which a test finds.
			v = value{text: r.def}
		}
		r.def = v.text
		c.mu.values[i] = v
	}
	c.settings.Store(c.buildLocked())
	return c
}

// parse reads a value from one string, as CONFIG SET has it: a blank separates
// words where the directive takes several.
func (r *directive) parse(old value, s string, again bool) (value, error) {
	words := []string{s}
	if r.kind.many {
		words = nil
		if s != "" {
			words = strings.Split(s, " ")
		}
	}
	return r.kind.parse(old, words, again)
}

// Settings returns the present values. It costs one atomic load.
func (c *Config) Settings() *Settings { return c.settings.Load() }

// File is the absolute path of the configuration file, empty if there is none.
func (c *Config) File() string { return c.file }

// Warnings are remarks on what was loaded, for the log: directives that mean
// nothing here.
func (c *Config) Warnings() []string { return c.warnings }

// buildLocked makes the Settings of the present values.
func (c *Config) buildLocked() *Settings {
	s := &Settings{Renames: c.mu.renames, Users: c.mu.users, ThrowAway: c.throwAway}
	for i := range c.rows {
		if set := c.rows[i].set; set != nil {
			set(s, c.mu.values[i])
		}
	}
	return s
}

// lookup finds a directive by name or alias, in any case.
func (c *Config) lookup(name string) (row int, ok bool) {
	row, ok = c.index[strings.ToLower(name)]
	return row, ok
}

// Known reports whether there is a directive of that name or alias.
func (c *Config) Known(name string) bool {
	_, ok := c.lookup(name)
	return ok
}

// Sensitive reports whether the value of the directive is a secret, which the
// slow log and MONITOR must not show.
func (c *Config) Sensitive(name string) bool {
	row, ok := c.lookup(name)
	return ok && c.rows[row].flags&sensitive != 0
}

// Get returns the directives that match any of the patterns, each once, aliases
// under their own names. A pattern without *, ? and [ is a name, which is
// returned as it was written; hidden directives are found only in this way.
// match reports whether a glob pattern matches; it gets both in lower case.
func (c *Config) Get(patterns []string, match func(pattern, name string) bool) []Pair {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pairs []Pair
	seen := make(map[string]bool)
	add := func(name string, row int) {
		if !seen[name] {
			seen[name] = true
			pairs = append(pairs, Pair{name, c.mu.values[row].text})
		}
	}
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, "[*?") {
			if row, ok := c.lookup(pattern); ok {
				add(pattern, row)
			}
			continue
		}
		pattern = strings.ToLower(pattern)
		for i := range c.rows {
			r := &c.rows[i]
			if r.flags&hidden != 0 {
				continue
			}
			if match(pattern, r.name) {
				add(r.name, i)
			}
			if r.alias != "" && match(pattern, r.alias) {
				add(r.alias, i)
			}
		}
	}
	return pairs
}

// Check registers a hook that is asked before a CONFIG SET that changes any of
// the named directives takes effect, once for each CONFIG SET. It does what the
// change needs (listen on another port, say) and returns nil, or refuses; the
// text of its error is sent to the client. If a later hook refuses, the hook is
// called again with old and new exchanged, to undo; errors of that call are
// dropped. Settings still returns the old values while it runs. It must not
// call Get, Set or Rewrite, which would wait for it.
//
// Check panics if a name is unknown, or that of a shared directive, which a member takes as it is: that is
// a bug of the caller.
func (c *Config) Check(ask func(old, new *Settings) error, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := c.rowsOf(names)
	for _, row := range rows {
		if c.rows[row].flags&shared != 0 {
			panic(fmt.Sprintf("conf: %q is shared, and cannot be refused", c.rows[row].name))
		}
	}
	c.mu.checks = append(c.mu.checks, check{rows, ask})
}

// Watch registers a hook that is called after a CONFIG SET or a Take has changed any of the named directives,
// or anything if none is named; Settings has the new values by then. The rules for hooks of Check
// apply to it too.
func (c *Config) Watch(tell func(*Settings), names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.watches = append(c.mu.watches, watch{c.rowsOf(names), tell})
}

func (c *Config) rowsOf(names []string) []int {
	rows := make([]int, len(names))
	for i, name := range names {
		row, ok := c.lookup(name)
		if !ok {
			panic(fmt.Sprintf("conf: hook on unknown directive %q", name))
		}
		rows[i] = row
	}
	return rows
}
