package topology

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// Group is what a cluster of several groups knows of one of them. It is not changed any more.
type Group struct {
	Name string
	// Index is the entry of the group's log that says what its members and its assignment are.
	Index      uint64
	Assignment Assignment
	Members    []GroupMember // in the order of their ids; none for a group that is dissolved
	// Term is the last leadership that was heard of, and Leader the member whose it is, 0 if it is not known.
	Term, Leader uint64
}

// GroupMember is a member of a group, and where clients reach it.
type GroupMember struct {
	ID      uint64
	Address string // "" if the group does not know it yet
	Learner bool
}

// joined returns what follows from two pieces of news about a group. The order in which news come, and
// how often, does not matter: the index and the term count what changes, and neither goes back in
// the life of a group. A group that was founded anew under its name has claimed slots later.
func joined(a, b *Group) *Group {
	switch {
	case a == nil || a.Assignment.Since < b.Assignment.Since:
		return b
	case a.Assignment.Since > b.Assignment.Since:
		return a
	}
	j := *a
	if b.Index > a.Index {
		j.Index, j.Assignment, j.Members = b.Index, b.Assignment, b.Members
	}
	if b.Term > a.Term || b.Term == a.Term && a.Leader == 0 {
		j.Term, j.Leader = b.Term, b.Leader
	}
	if j.same(a) {
		return a
	}
	return &j
}

// same reports that two pieces of news about a group say the same.
func (g *Group) same(o *Group) bool {
	return g != nil && o != nil && g.Index == o.Index && g.Term == o.Term && g.Leader == o.Leader && g.Assignment.Since == o.Assignment.Since
}

// LeaderAddress is where clients reach the leader, "" if that is not known.
func (g *Group) LeaderAddress() string {
	for _, m := range g.Members {
		if m.ID == g.Leader {
			return m.Address
		}
	}
	return ""
}

// dissolvedBy reports whether news of a group tell that nobody is a member of it any more.
func (g *Group) dissolvedBy(by *Group) bool {
	return len(by.Members) == 0 && len(g.Members) > 0 && len(joined(g, by).Members) == 0
}

// outdone reports whether news of a group tells of an entry or a leadership that the group itself, as it is, has not
// come to.
func (g *Group) outdone(by *Group) bool {
	return by.Assignment.Since == g.Assignment.Since && (by.Index > g.Index || by.Term > g.Term && by.Leader != 0)
}

// Bounds of a table: one that exceeds them is refused.
const (
	maxGroups       = 256
	maxGroupMembers = 2 * MaxMembers
	MaxGroupName    = 64
	maxGroupAddress = 255
)

// Table is the groups of a cluster by their names.
type Table map[string]*Group

// tableFormat is the first byte of a table between servers and on disk. All numbers are uvarints,
// and a text has its length in front:
//
//	1 (1) | groups, each: name | index | assignment (Assignment.append) | term | leader
//	        | members, each: id | 1 for a learner (1) | address
//
// Groups and members have their number in front. If a group has given slots away, the table begins with
// tableWithMoves, and each group has what it has given behind its assignment. If one has tombstones in its assignment, the table begins with
// tableWithTombstones, and each group has these behind what it has given.
const (
	tableFormat         = 1
	tableWithMoves      = 2
	tableWithTombstones = 3
)

// errTable is returned for bytes that are no table.
var errTable = fmt.Errorf("a table of groups does not decode: %w", ErrDecode)

// Encode returns the table as it is on disk and between servers.
func (t Table) Encode() []byte {
	format := byte(tableFormat)
	for _, g := range t {
		switch {
		case g.Assignment.HasTombstones():
			format = tableWithTombstones
		case len(g.Assignment.Given) > 0:
			format = max(format, tableWithMoves)
		}
	}
	b := binary.AppendUvarint([]byte{format}, uint64(len(t)))
	for _, name := range slices.Sorted(maps.Keys(t)) {
		g := t[name]
		b = g.Assignment.append(binary.AppendUvarint(AppendText(b, name), g.Index))
		if format >= tableWithMoves {
			b = appendMoves(b, g.Assignment.Given)
		}
		if format == tableWithTombstones {
			b = g.Assignment.appendTombstones(b)
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, g.Term), g.Leader)
		b = binary.AppendUvarint(b, uint64(len(g.Members)))
		for _, m := range g.Members {
			learner := byte(0)
			if m.Learner {
				learner = 1
			}
			b = AppendText(append(binary.AppendUvarint(b, m.ID), learner), m.Address)
		}
	}
	return b
}

// decodeTable reads what encode wrote; nothing is an empty table.
func decodeTable(b []byte) (Table, error) {
	t := Table{}
	if len(b) == 0 {
		return t, nil
	}
	if b[0] < tableFormat || b[0] > tableWithTombstones {
		return nil, fmt.Errorf("a table of groups in format %d: %w", b[0], ErrDecode)
	}
	d := Decoder{Rest: b[1:]}
	n := d.Number()
	if n > maxGroups {
		return nil, errTable
	}
	for ; n > 0 && d.Err == nil; n-- {
		g := d.group(b[0])
		if d.Err != nil || t[g.Name] != nil {
			return nil, errTable
		}
		t[g.Name] = g
	}
	if d.Err != nil || len(d.Rest) > 0 {
		return nil, errTable
	}
	return t, nil
}

func (d *Decoder) group(format byte) *Group {
	g := &Group{Name: d.Text(MaxGroupName), Index: d.Number(), Assignment: d.Assignment()}
	if format >= tableWithMoves {
		g.Assignment.Given = d.Moves()
	}
	if format == tableWithTombstones {
		d.Tombstones(&g.Assignment)
	}
	g.Term, g.Leader = d.Number(), d.Number()
	n := d.Number()
	if n > maxGroupMembers {
		d.Err = errTable
	}
	for ; n > 0 && d.Err == nil; n-- {
		m := GroupMember{ID: d.Number(), Learner: d.Number() == 1, Address: d.Text(maxGroupAddress)}
		if last := len(g.Members) - 1; m.ID == 0 || last >= 0 && g.Members[last].ID >= m.ID {
			d.Err = errTable
		}
		if _, err := BusOf(m.Address); err != nil && m.Address != "" {
			d.Err = errTable
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// senior says which of two groups has slots that both claim: the one that has had slots for longer,
// and of two that began in the same millisecond the one whose name comes first.
func senior(a, b *Group) int {
	return cmp.Or(cmp.Compare(a.Assignment.Since, b.Assignment.Since), cmp.Compare(a.Name, b.Name))
}

// divide says which slots each group has: every slot that is claimed is that of the most senior group
// which claims it. One that nobody claims, and that a group has given to another one, is about to be that one's:
// it is among those that come to it. What removed groups say does not count, and slots that were given to them come back.
// The same tables are divided alike everywhere.
func (t Table) divide() (of, come map[string]*slots.Set, taken *slots.Set) {
	of, come, taken = map[string]*slots.Set{}, map[string]*slots.Set{}, new(slots.Set)
	removed := t.removed()
	all := slices.SortedFunc(maps.Values(t), senior)
	all = slices.DeleteFunc(all, func(g *Group) bool { return removed[g.Name] > 0 })
	for _, g := range all {
		of[g.Name] = g.Assignment.Slots.Without(taken)
		taken = taken.Union(g.Assignment.Slots)
	}
	for _, g := range all {
		for _, m := range g.Assignment.Given {
			to := m.Group
			if removed[to] > 0 {
				to = g.Name
			}
			if t[to] != nil {
				come[to] = come[to].Union(m.Slots.Without(taken))
				taken = taken.Union(m.Slots)
			}
		}
	}
	return of, come, taken
}

// hasRoom reports whether a server may note one more group. One that is dissolved, or was removed, makes room: its
// tombstone is in the assignments of the others.
func (t Table) hasRoom() bool {
	if len(t) < maxGroups-1 {
		return true
	}
	removed := t.removed()
	for name, g := range t {
		if len(t) < maxGroups-1 {
			break
		}
		if len(g.Members) == 0 || removed[name] > 0 {
			delete(t, name)
		}
	}
	return len(t) < maxGroups-1
}
