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

// Settle ends the loading of a heap: one that is out of order is put into order. It reports false if an item
// is there twice.
func (l *List) Settle() bool {
	if !l.heap.isHeap() {
		l.heap.order()
	}
	l.heap.declared = l.heap.used
	seen := make(map[string]bool, l.heap.used)
	l.heap.each(func(_ uint64, e *entry) {
		if e.used {
			seen[string(e.item)] = true
		}
	})
	return len(seen) == l.heap.used
}
