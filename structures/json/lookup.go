package json

// Lookup returns the value at a path; ok is false if there is none.
func (d *Document) Lookup(path []Step) (v Value, ok bool) {
	p, ok := d.locate(path)
	if !ok {
		return Value{}, false
	}
	return d.value(p), true
}

// LookupSteps is about how many steps it takes to find a member of a container.
func (v Value) LookupSteps() int {
	if v.b[0] == tagChain {
		c := v.chain()
		return 1 + len(c.runs)/16 + c.count/len(c.runs)/16
	}
	return 1 + v.Len()/16
}

// Pin brings in the pages that a change at a path needs: those on the way, those of elements of
// an array there, and the one behind whose last member another comes. A change that follows cannot
// fail for a page then. It reports false if one cannot be read.
func (d *Document) Pin(path []Step, elements ...int) bool {
	if d.evicted == 0 {
		return true
	}
	p, ok := d.locate(path)
	if !ok {
		return !d.Failed()
	}
	if c := d.value(p).chain(); c != nil {
		elements = append(elements[:len(elements):len(elements)], c.count-1)
		for _, i := range elements {
			if i < 0 || i >= c.count {
				continue
			}
			if run, _ := c.find(i); !d.pin(c, c.runs[run]) {
				return false
			}
		}
	}
	return !d.Failed()
}

// PinRemoval is Pin for a removal, which moves the last member of an object to the free place.
func (d *Document) PinRemoval(path []Step) bool {
	n := len(path)
	return d.Pin(path) && (n == 0 || path[n-1].Index >= 0 || d.Pin(path[:n-1]))
}

// Memory is how many bytes a value takes, with what hangs in it. Nothing is read for it.
func (v Value) Memory() int {
	size := sizeOf(v.b)
	switch v.b[0] {
	case tagChain:
		size += v.chain().memory()
	case tagArray, tagObject:
		if v.d != nil && len(v.d.chains) > 0 {
			v.Each(func(_ []byte, _ int, member Value) bool {
				size += member.Memory() - sizeOf(member.b)
				return true
			})
		}
	}
	return size
}

func (c *chain) memory() int {
	size := chainSize + c.size
	for _, r := range c.runs {
		size += runSize
		for _, inner := range r.inner {
			size += inner.memory()
		}
	}
	return size
}
