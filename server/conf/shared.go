package conf

import (
	"errors"
	"maps"
	"slices"
)

// Directives that describe the data or the service, and not the machine, are shared by the members
// of a group from the moment that CONFIG SET sets them (ADR 0078): the server keeps their values with the
// data. The value that a member had of its own stays beneath, and counts again when the group has none.

// Keep is told of the shared directives that a CONFIG SET names, with their values as CONFIG GET shows
// them, when all else agrees to it: of none, unless the caller shares. If it returns an error nothing changes. It does not call
// the Config.
type Keep func(shared []Pair) error

// errNotShared is what is wrong with a directive of the group that this version does not share.
var errNotShared = errors.New("this version has no such directive of a group")

// Shared reports whether the members of a group share a directive.
func (c *Config) Shared(name string) bool {
	_, ok := c.SharedName(name)
	return ok
}

// SharedName returns the name of a directive, which may be given by an alias, if the members of a
// group share it.
func (c *Config) SharedName(name string) (full string, ok bool) {
	row, ok := c.lookup(name)
	if !ok || c.rows[row].flags&shared == 0 {
		return "", false
	}
	return c.rows[row].name, true
}

// keepLocked keeps the shared directives of a CONFIG SET. From then on they have an own value beneath.
func (c *Config) keepLocked(caller Caller, changes []change, former []value) error {
	if caller.Keep == nil {
		return nil
	}
	var rows []int
	var pairs []Pair
	for _, ch := range changes {
		if r := &c.rows[ch.row]; caller.Share && r.flags&shared != 0 {
			rows = append(rows, ch.row)
			pairs = append(pairs, Pair{r.name, c.mu.values[ch.row].text})
		}
	}
	if err := caller.Keep(pairs); err != nil {
		return err
	}
	for _, row := range rows {
		if _, ok := c.mu.own[row]; !ok {
			c.mu.own[row] = former[row]
		}
	}
	return nil
}

// Take makes the values of shared directives those that the group has, by name: those of the names in
// changed or, with nil, all. One that it has none of gets its own value again, and so does one whose value cannot be taken, as
// it may be of a later version: bad is called for it. Hooks of Watch are told.
func (c *Config) Take(values map[string]string, changed []string, bad func(name string, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed == nil {
		all := map[string]string{}
		maps.Copy(all, values)
		for row := range c.mu.own {
			all[c.rows[row].name] = ""
		}
		changed = slices.Sorted(maps.Keys(all))
	}
	differ := make(map[int]string)
	for _, name := range changed {
		text, there := values[name]
		row, known := c.index[name]
		if known = known && c.rows[row].name == name && c.rows[row].flags&shared != 0; known {
			err := c.takeLocked(row, text, there, differ)
			if err != nil {
				bad(name, err)
			}
		} else if there {
			bad(name, errNotShared)
		}
	}
	if len(differ) > 0 {
		next := c.buildLocked()
		c.settings.Store(next)
		c.tellLocked(next, differ)
	}
}

// takeLocked gives a directive the value that the group has, or its own.
func (c *Config) takeLocked(row int, text string, there bool, differ map[int]string) (err error) {
	r, now := &c.rows[row], c.mu.values[row]
	own, overruled := c.mu.own[row]
	if !overruled {
		own = now
	}
	v := own
	if there {
		if v, err = r.parse(own, text, false); err != nil {
			v, there = own, false
		}
	}
	if there {
		c.mu.own[row] = own
	} else {
		delete(c.mu.own, row)
	}
	if v.text != now.text || v.n != now.n {
		differ[row] = r.name
	}
	c.mu.values[row] = v
	return err
}

// Overruled lists the directives that the group has other values of than the member itself.
func (c *Config) Overruled() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for row, own := range c.mu.own {
		if own.text != c.mu.values[row].text {
			names = append(names, c.rows[row].name)
		}
	}
	slices.Sort(names)
	return names
}
