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

// Burial is a tombstone: it says that a group was removed, unless it was revived since.
type Burial struct {
	Group string
	At    uint64 // in milliseconds of Unix time; later than the one after which the group was revived last
}

// maxBuried is how many burials a claim has.
const maxBuried = 256

// Buries reports whether the claim says anything of burials.
func (c Claim) Buries() bool { return len(c.Buried) > 0 || c.Risen > 0 }

// appendBurials appends what a claim says of burials as it is on disk and in tables: Risen and the number of those that
// the group knows, then of each the name of the group (a text) and At. Numbers are uvarints; names are in order.
func (c Claim) appendBurials(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, c.Risen), uint64(len(c.Buried)))
	for _, o := range c.Buried {
		b = binary.AppendUvarint(AppendText(b, o.Group), o.At)
	}
	return b
}

// Burials reads what appendBurials wrote.
func (d *Decoder) Burials(c *Claim) {
	c.Risen = d.Number()
	n := d.Number()
	if n > maxBuried {
		d.Rest, d.Err = nil, ErrDecode
	}
	for ; n > 0 && d.Err == nil; n-- {
		b := Burial{Group: d.Text(MaxGroupName), At: d.Number()}
		if last := len(c.Buried) - 1; b.At == 0 || last >= 0 && c.Buried[last].Group >= b.Group {
			d.Rest, d.Err = nil, ErrDecode
		}
		c.Buried = append(c.Buried, b)
	}
}

// BurialOf returns when a group was buried, 0 if no burial of it is noted.
func BurialOf(all []Burial, name string) uint64 {
	if i, there := findBurial(all, name); there {
		return all[i].At
	}
	return 0
}

func findBurial(all []Burial, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(b Burial, name string) int { return cmp.Compare(b.Group, name) })
}

// WithBurial returns a copy of burials with one more, or with a later one of the same group.
func WithBurial(all []Burial, b Burial) []Burial {
	all = slices.Clone(all)
	i, there := findBurial(all, b.Group)
	if !there {
		return slices.Insert(all, i, b)
	}
	all[i].At = max(all[i].At, b.At)
	return all
}

// lying returns the removed groups, with the time of the last tombstone. Each counts, even that of a group which was removed
// itself: so the order in which they are heard of does not matter.
func (t Table) lying() map[string]uint64 {
	lie := map[string]uint64{}
	for _, g := range t {
		for _, b := range g.Claim.Buried {
			if of := t[b.Group]; of == nil || of.Claim.Risen < b.At {
				lie[b.Group] = max(lie[b.Group], b.At)
			}
		}
	}
	return lie
}

// Rises returns the claim of the revived group, without what it had and gave before it was removed: the present time counts for
// what it gets now. Groups that know that it was removed take what it gave without asking.
func (c Claim) Rises(buried, now uint64) Claim {
	c.Slots, c.Given, c.Since, c.Risen = new(slots.Set), nil, max(now, c.Since+1), buried
	return c
}

var (
	ErrLies     = errors.New("cluster: the group was removed")
	ErrSelfLies = errors.New("cluster: the group of this server was removed: CLUSTER ADDSLOTS gives it slots that no group has, with the keys that it still has of them")
	errBuryOwn  = errors.New("cluster: a group cannot bury itself")
	errBuryMany = fmt.Errorf("cluster: %d groups were buried, which is as many as are noted", maxBuried)
)

func (c *Cluster) Lies(name string) bool { return c.Division().Lies(name) }

// MayBury returns the burial of another group, and an error for one that cannot be buried. One that this server has not
// heard since it started may be silent for no longer than that.
func (c *Cluster) MayBury(buried []Burial, name string) (b Burial, err error) {
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
	case c.Lies(c.name):
		return b, ErrSelfLies
	case g == nil || c.Lies(name):
		return b, ErrLies
	case silent < least:
		return b, fmt.Errorf("cluster: the group was heard %v ago: only one that has been silent for %v, twice cluster-node-timeout, is buried", silent.Round(time.Millisecond), least)
	case len(buried) >= maxBuried && BurialOf(buried, name) == 0:
		return b, errBuryMany
	}
	return Burial{Group: name, At: max(c.opts.Wall(), g.Claim.Risen+1)}, nil
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
	all := d.Slots.Union(d.Arriving)
	for _, g := range d.Others {
		all = all.Union(g.Slots)
	}
	return all
}

// Unheard returns burials that other groups know and all lacks, as many as can be noted beside them.
func (c *Cluster) Unheard(all []Burial) (more []Burial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.table)) {
		for _, b := range c.table[name].Claim.Buried {
			at := BurialOf(all, b.Group)
			if at >= b.At || at == 0 && len(all) >= maxBuried {
				continue
			}
			all, more = WithBurial(all, b), append(more, b)
		}
	}
	return more
}

// reportBurialsLocked logs which groups were removed, and which revived, when that is new.
func (c *Cluster) reportBurialsLocked(lie map[string]uint64) {
	if c.own == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(lie)) {
		when := time.UnixMilli(int64(lie[name])).UTC().Format(time.RFC3339)
		switch {
		case c.lay[name] == lie[name]:
		case name == c.name:
			c.opts.Logf(logs.Warn, "this group was buried at %s by VIGIL.CLUSTER BURY, as it was not heard: the slots %s are not its own any more, and keys of them stay on disk, unseen. CLUSTER ADDSLOTS gives it slots that no group has, with the keys that are here; FLUSHALL and CLUSTER RESET make this server a new one", when, c.own.Claim.Slots)
		default:
			level := logs.Warn
			if c.lay == nil { // this server starts, and has said so before
				level = logs.Info
			}
			c.opts.Logf(level, "%s was buried at %s by VIGIL.CLUSTER BURY: it has no slots any more, and is not asked for anything", c.labelLocked(name), when)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.lay)) {
		if lie[name] == 0 {
			c.opts.Logf(logs.Notice, "%s is part of the cluster again: slots were given to it", c.labelLocked(name))
		}
	}
	if c.lay = lie; lie == nil {
		c.lay = map[string]uint64{}
	}
}

// TookBefore reports whether this server knows that a removed group had taken slots that were given to it. Then
// keys of them may have been removed here, and what is left is older than what clients have seen.
func (c *Cluster) TookBefore(m Move) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := new(slots.Set)
	if g := c.table[m.Group]; g != nil {
		taken = g.Claim.Slots.Union(SlotsOf(g.Claim.Given))
	}
	for _, g := range c.Division().Others {
		taken = taken.Union(g.Slots)
	}
	return taken.Both(m.Slots).Len() > 0
}

// lyingLocked returns the removed groups, by the tombstones of the own group too.
func (c *Cluster) lyingLocked() map[string]uint64 {
	t := maps.Clone(c.table)
	if c.own != nil {
		t[c.name] = c.own
	}
	return t.lying()
}
