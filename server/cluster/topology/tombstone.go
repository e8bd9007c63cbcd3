package topology

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/structures/slots"
)

// Tombstone says that a group was removed, unless it was revived since.
type Tombstone struct {
	Group string
	At    uint64 // in milliseconds of Unix time; later than the one after which the group was revived last
}

// maxTombstones is how many tombstones an assignment has.
const maxTombstones = 256

// HasTombstones reports whether the assignment has tombstones, or says that the group was revived.
func (c Assignment) HasTombstones() bool { return len(c.Tombstones) > 0 || c.Revived > 0 }

// appendTombstones appends what an assignment says of tombstones as it is on disk and in tables: Revived and the number of those that
// the group knows, then of each the name of the group (a text) and At. Numbers are uvarints; names are in order.
func (c Assignment) appendTombstones(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, c.Revived), uint64(len(c.Tombstones)))
	for _, o := range c.Tombstones {
		b = binary.AppendUvarint(AppendText(b, o.Group), o.At)
	}
	return b
}

// Tombstones reads what appendTombstones wrote.
func (d *Decoder) Tombstones(c *Assignment) {
	c.Revived = d.Number()
	n := d.Number()
	if n > maxTombstones {
		d.Rest, d.Err = nil, ErrDecode
	}
	for ; n > 0 && d.Err == nil; n-- {
		b := Tombstone{Group: d.Text(MaxGroupName), At: d.Number()}
		if last := len(c.Tombstones) - 1; b.At == 0 || last >= 0 && c.Tombstones[last].Group >= b.Group {
			d.Rest, d.Err = nil, ErrDecode
		}
		c.Tombstones = append(c.Tombstones, b)
	}
}

// TombstoneOf returns when a group was removed, 0 if it has no tombstone.
func TombstoneOf(all []Tombstone, name string) uint64 {
	if i, there := findTombstone(all, name); there {
		return all[i].At
	}
	return 0
}

func findTombstone(all []Tombstone, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(b Tombstone, name string) int { return cmp.Compare(b.Group, name) })
}

// WithTombstone returns a copy of tombstones with one more, or with a later one of the same group.
func WithTombstone(all []Tombstone, b Tombstone) []Tombstone {
	all = slices.Clone(all)
	i, there := findTombstone(all, b.Group)
	if !there {
		return slices.Insert(all, i, b)
	}
	all[i].At = max(all[i].At, b.At)
	return all
}

// removed returns the removed groups, with the time of the last tombstone. Each counts, even that of a group which was removed
// itself: so the order in which they are heard of does not matter.
func (t Table) removed() map[string]uint64 {
	removed := map[string]uint64{}
	for _, g := range t {
		for _, b := range g.Assignment.Tombstones {
			if of := t[b.Group]; of == nil || of.Assignment.Revived < b.At {
				removed[b.Group] = max(removed[b.Group], b.At)
			}
		}
	}
	return removed
}

// Revive returns the assignment of the revived group, without what it had and gave before it was removed: the present time counts for
// what it gets now. Groups that know that it was removed take what it gave without asking.
func (c Assignment) Revive(buried, now uint64) Assignment {
	c.Slots, c.Given, c.Since, c.Revived = new(slots.Set), nil, max(now, c.Since+1), buried
	return c
}

var (
	ErrRemoved     = errors.New("cluster: the group was removed")
	ErrSelfRemoved = errors.New("cluster: the group of this server was removed: CLUSTER ADDSLOTS gives it slots that no group has, with the keys that it still has of them")
	errBuryOwn     = errors.New("cluster: a group cannot bury itself")
	errBuryMany    = fmt.Errorf("cluster: %d groups were buried, which is as many as are noted", maxTombstones)
)

func (c *Cluster) Removed(name string) bool { return c.Division().Removed(name) }

// MayBury returns the tombstone of another group, and an error for one that cannot be buried. One that this server has not
// heard since it started may be silent for no longer than that.
func (c *Cluster) MayBury(buried []Tombstone, name string) (b Tombstone, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard, ever := c.heard[name]
	if !ever {
		heard = c.began
	}
	silent, g := c.opts.Now()-heard, c.table[name]
	switch least := 2 * c.opts.Silence; {
	case name == c.name:
		return b, errBuryOwn
	case c.Removed(c.name):
		return b, ErrSelfRemoved
	case g == nil || c.Removed(name):
		return b, ErrRemoved
	case silent < least:
		return b, fmt.Errorf("cluster: the group was heard %v ago: only one that has been silent for %v, twice cluster-node-timeout, is buried", silent.Round(time.Millisecond), least)
	case len(buried) >= maxTombstones && TombstoneOf(buried, name) == 0:
		return b, errBuryMany
	}
	return Tombstone{Group: name, At: max(uint64(c.opts.Clock.Now().UnixMilli()), g.Assignment.Revived+1)}, nil
}

// OwnedBy returns the slots of another group.
func (c *Cluster) OwnedBy(name string) *slots.Set {
	for _, g := range c.Division().Others {
		if g.Name == name {
			return g.Slots
		}
	}
	return new(slots.Set)
}

// Owned returns the slots of all groups, with those that one is about to get.
func (c *Cluster) Owned() *slots.Set {
	d := c.Division()
	all := d.Slots.Union(d.Importing)
	for _, g := range d.Others {
		all = all.Union(g.Slots)
	}
	return all
}

// Unheard returns tombstones that other groups know and all lacks, as many as can be noted beside them.
func (c *Cluster) Unheard(all []Tombstone) (more []Tombstone) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.table)) {
		for _, b := range c.table[name].Assignment.Tombstones {
			at := TombstoneOf(all, b.Group)
			if at >= b.At || at == 0 && len(all) >= maxTombstones {
				continue
			}
			all, more = WithTombstone(all, b), append(more, b)
		}
	}
	return more
}

// reportRemovedLocked logs which groups were removed, and which revived, when that is new.
func (c *Cluster) reportRemovedLocked(removed map[string]uint64) {
	if c.own == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(removed)) {
		when := time.UnixMilli(int64(removed[name])).UTC().Format(time.RFC3339)
		switch {
		case c.removed[name] == removed[name]:
		case name == c.name:
			c.opts.Logf(logs.Warn, "this group was buried at %s by VIGIL.CLUSTER BURY, as it was not heard: the slots %s are not its own any more, and keys of them stay on disk, unseen. CLUSTER ADDSLOTS gives it slots that no group has, with the keys that are here; FLUSHALL and CLUSTER RESET make this server a new one", when, c.own.Assignment.Slots)
		default:
			level := logs.Warn
			if c.removed == nil { // this server starts, and has said so before
				level = logs.Info
			}
			c.opts.Logf(level, "%s was buried at %s by VIGIL.CLUSTER BURY: it has no slots any more, and is not asked for anything", c.labelLocked(name), when)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.removed)) {
		if removed[name] == 0 {
			c.opts.Logf(logs.Notice, "%s is part of the cluster again: slots were given to it", c.labelLocked(name))
		}
	}
	if c.removed = removed; removed == nil {
		c.removed = map[string]uint64{}
	}
}

// TookBefore reports whether this server knows that a removed group had taken slots that were given to it. Then
// keys of them may have been removed here, and what is left is older than what clients have seen.
func (c *Cluster) TookBefore(m Move) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := new(slots.Set)
	if g := c.table[m.Group]; g != nil {
		taken = g.Assignment.Slots.Union(SlotsOf(g.Assignment.Given))
	}
	for _, g := range c.Division().Others {
		taken = taken.Union(g.Slots)
	}
	return taken.Both(m.Slots).Len() > 0
}

// removedLocked returns the removed groups, by the tombstones of the own group too.
func (c *Cluster) removedLocked() map[string]uint64 {
	t := maps.Clone(c.table)
	if c.own != nil {
		t[c.name] = c.own
	}
	return t.removed()
}
