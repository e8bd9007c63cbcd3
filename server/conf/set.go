package conf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Caller is what Set has to know about the client that asks.
type Caller struct {
	Local   bool // the client is on this machine
	Loading bool // data is being loaded
	Keep    Keep // may be nil
	Share   bool // shared directives are set for the group
	Own     bool // the server itself sets what clients cannot
}

// failure is an error with Redis's text, with the code in front.
func failure(name, reason string) error {
	return fmt.Errorf("ERR CONFIG SET failed (possibly related to argument '%s') - %s", name, reason)
}

// change is one pair of a CONFIG SET.
type change struct {
	row int
	Pair
}

// Set does CONFIG SET: all pairs take effect, or none. The text of its error is
// what the client gets, code included.
//
// Cases, in the order in which they are found: an unknown name; a directive
// that cannot change, or not by this caller; one that is named twice, be it by
// its alias (Redis lets the alias pass); a value that is wrong, or asks for what
// vigil does not have; a hook that refuses; Keep, whose error is returned as it is.
func (c *Config) Set(caller Caller, pairs []Pair) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes, err := c.resolve(caller, pairs)
	if err != nil {
		return err
	}
	old, oldValues := c.settings.Load(), slices.Clone(c.mu.values)
	changed := make(map[int]string) // row to the name it was called by
	for _, ch := range changes {
		r := &c.rows[ch.row]
		v, err := r.parse(oldValues[ch.row], ch.Value, false)
		if err != nil {
			copy(c.mu.values, oldValues)
			return failure(r.nameLike(ch.Name), err.Error())
		}
		if err := r.refusal(v); err != nil {
			copy(c.mu.values, oldValues)
			return failure(r.nameLike(ch.Name), err.Error())
		}
		if v.text != oldValues[ch.row].text || v.n != oldValues[ch.row].n || r.flags&rereads != 0 {
			changed[ch.row] = r.nameLike(ch.Name)
		}
		c.mu.values[ch.row] = v
	}
	next := c.buildLocked()
	if err := c.askLocked(old, next, changed); err != nil {
		copy(c.mu.values, oldValues)
		return err
	}
	if err := c.keepLocked(caller, changes, oldValues); err != nil {
		c.undoLocked(old, next, changed, c.mu.checks)
		copy(c.mu.values, oldValues)
		return err
	}
	c.settings.Store(next)
	c.tellLocked(next, changed)
	return nil
}

// tellLocked tells the hooks of the changed rows.
func (c *Config) tellLocked(next *Settings, changed map[int]string) {
	for _, w := range c.mu.watches {
		if _, ok := firstChanged(w.rows, changed); ok || len(w.rows) == 0 && len(changed) > 0 {
			w.tell(next)
		}
	}
}

// resolve finds the rows of the pairs and checks that they may be set.
func (c *Config) resolve(caller Caller, pairs []Pair) ([]change, error) {
	changes := make([]change, len(pairs))
	for i, p := range pairs {
		row, ok := c.lookup(p.Name)
		if !ok {
			return nil, fmt.Errorf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", p.Name)
		}
		changes[i] = change{row, p}
	}
	guard := c.settings.Load().EnableProtectedConfigs
	for i, ch := range changes {
		f := c.rows[ch.row].flags
		switch {
		case caller.Own:
		case f&protected != 0 && !guard.Allows(caller.Local):
			return nil, failure(ch.Name, "can't set protected config")
		case f&immutable != 0, f&settled != 0 && !c.hasLocked(ch):
			return nil, failure(ch.Name, "can't set immutable config")
		case f&notLoading != 0 && caller.Loading:
			return nil, commands.ErrLoading
		}
		for _, before := range changes[:i] {
			if before.row == ch.row {
				return nil, failure(ch.Name, "duplicate parameter")
			}
		}
	}
	return changes, nil
}

// hasLocked reports whether a directive has the value already that it is to be set to.
func (c *Config) hasLocked(ch change) bool {
	now := c.mu.values[ch.row]
	v, err := c.rows[ch.row].parse(now, ch.Value, false)
	return err == nil && v.text == now.text && v.n == now.n
}

// askLocked asks the hooks of the changed rows. If one refuses, those that
// agreed are undone.
func (c *Config) askLocked(old, next *Settings, changed map[int]string) error {
	for i, k := range c.mu.checks {
		name, ok := firstChanged(k.rows, changed)
		if !ok {
			continue
		}
		err := k.ask(old, next)
		if err == nil {
			continue
		}
		c.undoLocked(old, next, changed, c.mu.checks[:i])
		return failure(name, err.Error())
	}
	return nil
}

// undoLocked undoes what hooks have agreed to, the last one first.
func (c *Config) undoLocked(old, next *Settings, changed map[int]string, agreed []check) {
	for _, k := range slices.Backward(agreed) {
		if _, ok := firstChanged(k.rows, changed); ok {
			_ = k.ask(next, old) // it was accepted before, and there is no way to report an error
		}
	}
}

func firstChanged(rows []int, changed map[int]string) (name string, ok bool) {
	for _, row := range rows {
		if name, ok := changed[row]; ok {
			return name, true
		}
	}
	return "", false
}

// refusal is the reason why a value is refused: nil unless the directive is
// absent and the value is not its default.
func (r *directive) refusal(v value) error {
	if r.effect != absent || v.text == r.def {
		return nil
	}
	return errors.New(r.instead)
}

// nameLike is the name of the row, or its alias if that was used.
func (r *directive) nameLike(used string) string {
	if r.alias != "" && strings.EqualFold(used, r.alias) {
		return r.alias
	}
	return r.name
}
