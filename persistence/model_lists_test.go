package persistence

import (
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// The operations of the model on lists.

func (o *trial) end() list.End { return list.End(o.r.IntN(2)) }

// putList makes the elements of the trial's list those of the model's.
func (o *trial) putList(elems []string) {
	o.old.list = elems
	if o.put(o.old); len(elems) == 0 {
		delete(o.m.dbs[o.db], o.key)
	}
}

func (o *trial) push() bool {
	l, ch, ok := editTrial(o, structures.KindList, list.New)
	if !ok {
		return false
	}
	elems, end := slices.Clone(o.old.list), o.end()
	for range 1 + o.r.IntN(5) {
		e := randomBytes(o.r)
		l.Push(ch, end, e)
		elems = slices.Insert(elems, len(elems)*int(end), string(e))
	}
	o.putList(elems)
	return true
}

func (o *trial) pop() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	elems, end := slices.Clone(o.old.list), o.end()
	for range 1 + o.r.IntN(4) {
		if len(elems) == 0 {
			break
		}
		at := (len(elems) - 1) * int(end)
		if e, _ := l.Pop(ch, end); string(e) != elems[at] {
			o.Fatalf("Pop %.20s: got %.20q, want %.20q", o.key, e, elems[at])
		}
		elems = slices.Delete(elems, at, at+1)
	}
	o.putList(elems)
	return true
}

func (o *trial) popMany() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	n := min(1+o.r.IntN(5), len(o.old.list))
	var got []string
	if count := l.PopMany(ch, list.Tail, n, func(e []byte) { got = append(got, string(e)) }); count != n {
		o.Fatalf("PopMany %.20s: got %d, want %d", o.key, count, n)
	}
	left := len(o.old.list) - n
	slices.Reverse(got)
	if !slices.Equal(got, o.old.list[left:]) {
		o.Fatalf("PopMany %.20s: got other elements", o.key)
	}
	o.putList(o.old.list[:left])
	return true
}

func (o *trial) setElement() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	elems, i, e := slices.Clone(o.old.list), o.r.IntN(len(o.old.list)), randomBytes(o.r)
	if !l.Set(ch, i, e) {
		o.Fatalf("Set %.20s: element %d was not found", o.key, i)
	}
	elems[i] = string(e)
	o.putList(elems)
	return true
}

func (o *trial) insertElement() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	pivot, e := o.old.list[o.r.IntN(len(o.old.list))], randomBytes(o.r)
	if _, found := l.Insert(ch, list.Before, []byte(pivot), e); !found {
		o.Fatalf("Insert %.20s: %.20q was not found", o.key, pivot)
	}
	o.putList(slices.Insert(slices.Clone(o.old.list), slices.Index(o.old.list, pivot), string(e)))
	return true
}

func (o *trial) removeElement() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	e := o.old.list[o.r.IntN(len(o.old.list))]
	elems := slices.DeleteFunc(slices.Clone(o.old.list), func(s string) bool { return s == e })
	if got, want := l.Remove(ch, 0, []byte(e)), len(o.old.list)-len(elems); got != want {
		o.Fatalf("Remove %.20s: got %d, want %d", o.key, got, want)
	}
	o.putList(elems)
	return true
}

func (o *trial) rotate() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	elems := append(slices.Clone(o.old.list[1:]), o.old.list[0])
	if e, _ := l.Rotate(ch, list.Head, list.Tail); string(e) != o.old.list[0] {
		o.Fatalf("Rotate %.20s: got %.20q, want %.20q", o.key, e, o.old.list[0])
	}
	o.putList(elems)
	return len(elems) > 1
}

func (o *trial) trim() bool {
	l, ch, ok := editTrial[*list.List](o, structures.KindList, nil)
	if !ok {
		return false
	}
	n := len(o.old.list)
	from := o.r.IntN(min(n, 3))
	to := n - o.r.IntN(min(n-from, 3))
	l.Trim(ch, from, to-1)
	o.putList(slices.Clone(o.old.list[from:to]))
	return to-from < n
}
