package topk

// Place is an entry of the heap of a payload.
type Place struct {
	Print, Count uint32
	Item         []byte
	Used         bool // else it is empty
}

// Places visits the k places of the heap in order.
func (l *List) Places(visit func(p Place)) {
	for i := range l.shape.K {
		e := l.heap.at(i)
		visit(Place{e.print, e.count, e.item, e.used})
	}
}

// SetPlace sets a place of the heap of a list that is loaded.
func (l *List) SetPlace(i uint64, p Place) {
	l.heap.put(i, entry{print: p.Print, count: p.Count, item: append([]byte{}, p.Item...)})
}

// EndLoad ends the loading of a heap, and reports false if an item is there twice. One that is out of order stays so:
// a count that was corrected downwards has it so, and the replies after a load are those that there would be without.
func (l *List) EndLoad() bool {
	l.heap.declared = l.heap.used
	seen := make(map[string]bool, l.heap.used)
	l.heap.each(func(_ uint64, e *entry) {
		if e.used {
			seen[string(e.item)] = true
		}
	})
	return len(seen) == l.heap.used
}
