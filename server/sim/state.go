package sim

import (
	"maps"
	"slices"
	"strconv"
)

// databases is how many the clients use.
const databases = 2

// value is what a key holds. One that belongs to a state is never changed.
type value struct {
	text   string
	list   []string          // not nil: a list
	hash   map[string]string // not nil: a hash
	names  []name            // of the entries of a stream, in the order in which they were given; not compared
	expire int64             // unix milliseconds, 0 for never
}

func (v *value) equal(w *value) bool {
	return v.text == w.text && v.expire == w.expire && slices.Equal(v.list, w.list) && maps.Equal(v.hash, w.hash)
}

// place is a key of a database.
type place struct {
	db  int
	key string
}

// state is what the server should hold at one moment. Expired keys may still be
// in it.
type state struct {
	dbs [databases]map[string]*value
}

func newState() *state {
	s := &state{}
	for i := range s.dbs {
		s.dbs[i] = map[string]*value{}
	}
	return s
}

func (s *state) clone() *state {
	c := &state{}
	for i := range s.dbs {
		c.dbs[i] = maps.Clone(s.dbs[i])
	}
	return c
}

// at is the state without the expired keys.
func (s *state) at(now int64) *state {
	c := s.clone()
	for _, db := range c.dbs {
		maps.DeleteFunc(db, func(_ string, v *value) bool { return v.expire != 0 && v.expire <= now })
	}
	return c
}

func (s *state) equal(t *state) bool {
	for i := range s.dbs {
		if !maps.EqualFunc(s.dbs[i], t.dbs[i], (*value).equal) {
			return false
		}
	}
	return true
}

// difference describes a key on which the two do not agree.
func (s *state) difference(t *state) string {
	for i := range s.dbs {
		keys := map[string]bool{}
		for k := range s.dbs[i] {
			keys[k] = true
		}
		for k := range t.dbs[i] {
			keys[k] = true
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			a, b := s.dbs[i][k], t.dbs[i][k]
			if a == nil || b == nil || !a.equal(b) {
				return "database " + strconv.Itoa(i) + ", " + k + ": " + a.String() + ", want " + b.String()
			}
		}
	}
	return "none"
}

// String is the value for people.
func (v *value) String() string {
	if v == nil {
		return absent
	}
	text := bulk(v.text)
	switch {
	case v.list != nil:
		text = list(v.list)
	case v.hash != nil:
		text = list(pairs(v.hash))
	}
	text = short(text)
	if v.expire != 0 {
		text += " until " + strconv.FormatInt(v.expire, 10)
	}
	return text
}

// pairs lists a hash in the order of its fields.
func pairs(h map[string]string) []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(h)) {
		out = append(out, f, h[f])
	}
	return out
}
