package json

import (
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/json"
)

func merge(c *commands.Ctx) error {
	key, text, value := c.Args.Key(), word(c), c.Args.Bytes()
	for c.Args.More() {
		if option(c) != "FORMAT" {
			c.Args.Syntax()
		} else {
			readSetFormat(c)
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	return change(c, key, value, json.NoFloat, "json.merge", func(u *update, v placed) (bool, error) { return u.merge(text, v) })
}

// merge merges a patch into what a path matches, as RFC 7396 says. Where nothing is, the patch is
// put as it stands. It reports false if there is no place for it.
func (u *update) merge(text []byte, patch placed) (done bool, err error) {
	if u.d == nil {
		return u.create(text, patch, anyway)
	}
	if err := u.find(text); err != nil {
		return false, err
	}
	if len(u.list) == 0 {
		places, err := u.planNew(patch)
		if err != nil || places == nil {
			return false, err
		}
		u.carryOut(places, patch)
		return true, nil
	}
	places, err := u.mergePlaces(patch)
	if err != nil {
		return false, err
	}
	for _, p := range places {
		if target, ok := u.d.Lookup(p); ok {
			m := merger{u: u}
			m.merge(p, target, json.Of(patch.value))
		}
	}
	return true, nil
}

// mergePlaces returns the places of matches, what is around others first, after it has found that
// the patch can be merged into all of them.
func (u *update) mergePlaces(patch placed) (places [][]json.Step, err error) {
	list := u.sorted(u.list)
	deepest := 0
	for _, m := range list {
		deepest = max(deepest, m.Depth())
	}
	if err := allows(len(list), len(patch.value), patch.depth, deepest); err != nil {
		return nil, err
	}
	places = make([][]json.Step, len(list))
	for i, match := range list {
		p := match.Path()
		places[i] = p
		if pages, _ := u.d.Evicted(); pages > 0 {
			m := merger{u: u, dry: true}
			m.merge(p, match.Value, json.Of(patch.value))
		}
	}
	return places, u.c.Tx.Err()
}

// merger merges a patch into one value.
type merger struct {
	u *update
	// dry: nothing is changed, but the pages are brought in that the change needs.
	dry bool
}

func (m *merger) put(p []json.Step, value []byte) {
	if m.dry {
		m.u.d.Pin(p)
		m.u.d.Pin(p[:max(len(p)-1, 0)])
		return
	}
	m.u.d.Put(m.u.ch, p, value)
}

// merge merges patch into target, which is at p. Neither holds what the other changes: the target
// is looked up again for each member.
func (m *merger) merge(p []json.Step, target, patch json.Value) {
	if patch.Type() != json.Object {
		m.put(p, patch.Encoded(nil))
		return
	}
	if target.Type() != json.Object {
		m.put(p, withoutNulls(patch))
		return
	}
	if len(p) > 0 || patch.Len() > 0 {
		p = p[:len(p):len(p)]
	}
	for members := patch.Members(); ; {
		name, member, ok := members.Next()
		if !ok {
			break
		}
		m.member(append(p, json.Named(name)), member)
	}
	if !m.dry && !m.u.changed() {
		m.touch(p)
	}
}

// touch records a change that leaves the value at p, an object, as it was: a merge that finds
// nothing to do still counts as a change.
func (m *merger) touch(p []json.Step) {
	if v, ok := m.u.d.Lookup(p); ok && v.Len() == 0 {
		m.put(p, v.Encoded(nil))
	} else if ok {
		members := v.Members()
		name, first, _ := members.Next()
		m.put(append(p, json.Named(slices.Clone(name))), first.Encoded(nil))
	}
}

func (m *merger) member(p []json.Step, patch json.Value) {
	old, there := m.u.d.Lookup(p)
	switch {
	case patch.Type() == json.Null:
		if !there {
			return
		}
		if m.dry {
			m.u.d.PinRemoval(p)
			return
		}
		m.u.d.Remove(m.u.ch, p)
	case there:
		m.merge(p, old, patch)
	case m.dry:
		m.put(p, nil)
	default:
		m.u.d.PutNew(m.u.ch, p, withoutNulls(patch))
	}
}

// withoutNulls is what a patch makes of nothing.
func withoutNulls(patch json.Value) []byte {
	if patch.Type() != json.Object {
		return patch.Encoded(nil)
	}
	b := json.NewBuilder(nil)
	buildWithoutNulls(b, patch)
	return b.Bytes()
}

func buildWithoutNulls(b *json.Builder, patch json.Value) {
	if patch.Type() != json.Object {
		b.Encoded(patch.Encoded(nil))
		return
	}
	b.Begin(true)
	for members := patch.Members(); ; {
		name, member, ok := members.Next()
		if !ok {
			break
		}
		if member.Type() != json.Null {
			b.Name(name)
			buildWithoutNulls(b, member)
		}
	}
	b.End()
}
