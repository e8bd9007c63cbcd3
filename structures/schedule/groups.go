package schedule

import (
	"encoding/binary"

	"github.com/vigildb/vigil/scheduler"
)

// maxGroups bounds the groups of a schedule: numbers begin with 1.
const maxGroups = scheduler.MaxNodes - 1

// groups are the groups of a schedule. They are numbered, and stored beside the nodes of
// the page of their number. The names are here, the rest is in the table's list: limits,
// holds, and what is learnt of signals. A group goes with its last node, unless it has
// limits or is held.
type groups struct {
	numbers map[string]int32
	names   []string // by number
	bytes   int      // of names
	list    *scheduler.Groups
	changed *changed
	// renumbered maps numbers of pages that are appended to those that they get.
	renumbered map[int32]int32
}

func (g *groups) put(number int32, name string, group scheduler.Group) {
	if g.numbers == nil {
		g.numbers = make(map[string]int32)
	}
	for len(g.names) <= int(number) {
		g.names = append(g.names, "")
	}
	g.names[number] = name
	g.numbers[name] = number
	g.bytes += len(name)
	g.list.Put(number, group)
}

func (g *groups) drop(number int32) {
	g.list.Remove(number)
	g.bytes -= len(g.names[number])
	delete(g.numbers, g.names[number])
	g.names[number] = ""
	for n := len(g.names); n > 0 && g.names[n-1] == ""; n-- {
		g.names = g.names[:n-1]
	}
}

// size is the memory held, in bytes: a map entry takes 20 bytes and a control byte, at a
// load of about two thirds.
func (g *groups) size() int {
	const mapEntry = 34
	return g.bytes + 16*cap(g.names) + mapEntry*len(g.numbers)
}

// name is the name of a group, "" for none.
func (g *groups) name(number int32) string {
	if number <= 0 || int(number) >= len(g.names) {
		return ""
	}
	return g.names[number]
}

// number is the number of a group, which is made if there is none.
func (g *groups) number(name string) int32 {
	number, ok := g.numbers[name]
	if !ok {
		number = g.list.Free()
		g.put(number, name, scheduler.Group{})
		g.touch(number)
	}
	return number
}

// check returns ErrName or ErrFull if there cannot be a group of this name.
func (g *groups) check(name []byte) error {
	if len(name) == 0 || len(name) > MaxName {
		return ErrName
	}
	if len(g.numbers) >= maxGroups {
		if _, ok := g.numbers[string(name)]; !ok {
			return ErrFull
		}
	}
	return nil
}

// touch marks the page of a group as changed.
func (g *groups) touch(number int32) {
	if number > 0 {
		g.changed.touch(int(number))
	}
}

// sweep forgets a group that is not needed any more.
func (g *groups) sweep(number int32, now int64) {
	if g.list.Idle(number, now) {
		g.drop(number)
		g.touch(number)
	}
}

// scan visits the names of up to count groups from a number on, and returns the next
// number, 0 at the end.
func (g *groups) scan(from uint64, count int, visit func(group string)) uint64 {
	for at := max(from, 1); at < uint64(len(g.names)); at++ {
		if g.names[at] == "" {
			continue
		}
		if count--; count < 0 {
			return at
		}
		visit(g.names[at])
	}
	return 0
}

// appendPage appends the groups of page id, and what says that there are some.
func (g *groups) appendPage(dst []byte, id int) []byte {
	first, used, at := id*scheduler.PageSize, uint64(0), 0
	for i := range scheduler.PageSize {
		group := g.list.Of(int32(first + i))
		if group == nil {
			continue
		}
		if used == 0 {
			dst = binary.LittleEndian.AppendUint64(dst, 0)
			dst = binary.AppendUvarint(dst, uint64(id))
			at = len(dst)
			dst = binary.LittleEndian.AppendUint64(dst, 0)
		}
		used |= 1 << i
		dst = appendGroup(dst, g.names[first+i], group)
	}
	if used != 0 {
		binary.LittleEndian.PutUint64(dst[at:], used)
	}
	return dst
}

// seat reads the groups of a page.
func (g *groups) seat(r *reader) {
	first := int32(r.Uint(scheduler.MaxNodes/scheduler.PageSize-1)) * scheduler.PageSize
	used := r.fixed()
	if used == 0 || first == 0 && used&1 != 0 {
		r.Bad = true // there is no group 0
	}
	for i := range int32(scheduler.PageSize) {
		if used>>i&1 == 0 || r.Bad {
			continue
		}
		name, group := r.group()
		number := g.renumber(first + i)
		if _, twice := g.numbers[name]; twice || name == "" || g.list.Of(number) != nil || r.Bad {
			r.Bad = true
			return
		}
		g.put(number, name, group)
	}
}

// unseat takes out the groups from a number on that are of its page.
func (g *groups) unseat(first int32) {
	for i := range int32(scheduler.PageSize) {
		if g.list.Of(first+i) != nil {
			g.drop(first + i)
		}
	}
}

// renumber is the number that a group of a page that is appended gets: the numbers of
// another program may be few and great.
func (g *groups) renumber(number int32) int32 {
	if number == 0 || g.renumbered == nil {
		return number
	}
	got, ok := g.renumbered[number]
	if !ok {
		got = int32(len(g.renumbered) + 1)
		g.renumbered[number] = got
	}
	return got
}
