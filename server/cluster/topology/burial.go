package topology

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures/slots"
)

// Burial says that a group lies buried, unless it has risen since.
type Burial struct {
	Group string
	At    uint64 // in milliseconds of Unix time; later than the one from which the group has risen last
}

// MaxBuried is how many burials a claim has.
const MaxBuried = 256

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
	if n > MaxBuried {
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

// Lying returns the groups that lie buried, with the time of the last burial. Each burial counts, whichever group made it and
// whether that lies itself: so the order in which they are heard of does not matter.
func (t Table) Lying() map[string]uint64 {
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

// Rises returns the claim without what the group had and gave before it was buried: the present time counts for what it gets now, and
// it lies no more. Groups that know that it lay take what it gave without asking.
func (c Claim) Rises(buried, now uint64) Claim {
	c.Slots, c.Given, c.Since, c.Risen = new(slots.Set), nil, max(now, c.Since+1), buried
	return c
}
