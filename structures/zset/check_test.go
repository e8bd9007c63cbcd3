package zset

import "testing"

// check checks what ties leaves, branches and index together.
func check(t *testing.T, s *Set) {
	t.Helper()
	memory, count, leaves, gone, due := 0, 0, 0, 0, 0
	var last *leaf
	for l := s.firstLeaf(); l != nil; l = next(l) {
		if last != nil && (previous(l) != last || !l.Evicted && compare(last, last.len()-1, l, 0) >= 0) {
			t.Fatalf("leaf %d is not behind leaf %d", l.num, last.num)
		}
		if l.Dirty != (l.Whole || l.gained.unwritten() > 0) || l.Whole && l.gained != nil || !l.Stored && !l.Whole {
			t.Fatalf("leaf %d gained %d bytes: %+v", l.num, l.gained.unwritten(), l.DeltaState)
		}
		if s.numbered[l.num] != l || l.len() == 0 || l.big() && l.len() > 1 {
			t.Fatalf("leaf %d of %d entries and %d bytes", l.num, l.len(), len(l.buf))
		}
		due += l.cost()
		if l.Evicted {
			if l.Whole || l.slots != nil || !s.indexed {
				t.Fatalf("leaf %d is evicted: %+v", l.num, l.DeltaState)
			}
			memory, count, leaves, last, gone = memory+l.memory(), count+l.len(), leaves+1, nil, gone+1
			continue
		}
		at := 0
		for i, slot := range l.slots {
			if int(slot>>16) != at || i > 0 && compare(l, i-1, l, i) >= 0 {
				t.Fatalf("leaf %d: entry %d at %d, want %d", l.num, i, slot>>16, at)
			}
			_, member, size := readEntry(l.buf, at)
			at += size
			tag := uint16(0)
			if s.root != nil {
				hash := s.hashOf(member)
				tag = tagOf(hash)
				if bk := s.index.bucket(hash); !bk.Evicted && bk.entry(hash, l.num) < 0 {
					t.Fatalf("leaf %d: entry %d is not in the index", l.num, i)
				}
			}
			if uint16(slot) != tag {
				t.Fatalf("leaf %d: entry %d has tag %x, want %x", l.num, i, uint16(slot), tag)
			}
		}
		memory += l.memory()
		count += l.len()
		leaves++
		last = l
	}
	if last != nil && last != s.lastLeaf() || count != s.count || leaves != s.live || !s.indexed && len(s.numbered) > 2*s.live+sparse && s.live > 0 || s.indexed && s.distant(0) {
		t.Fatalf("%d leaves of %d with %d members, said to be %d with %d", leaves, len(s.numbered), count, s.live, s.count)
	}
	if s.root != nil {
		memory += checkBranch(t, s.root)
		gone += checkIndex(t, s.index, s.count)
		if s.root.len() < 2 || s.only != nil || s.root.up != nil {
			t.Fatalf("root with %d children", s.root.len())
		}
	} else if s.index != nil || leaves > 1 {
		t.Fatal("an index without a root")
	}
	if counted, _ := s.Evicted(); gone != counted || due != s.pages.Due {
		t.Fatalf("%d pages evicted, counted %d; writing leaves costs %d, counted %d", gone, counted, due, s.pages.Due)
	}
	if n := changedBranches(s); n != s.branches.Changed() {
		t.Fatalf("%d branches changed, counted %d", n, s.branches.Changed())
	}
	if memory != s.memory {
		t.Fatalf("%d bytes, counted %d", memory, s.memory)
	}
}

func changedBranches(s *Set) (n int) {
	if s.root != nil {
		eachLowest(s.root, func(b *branch) {
			if b.Dirty {
				n++
			}
		})
	}
	return n
}

func checkBranch(t *testing.T, n *branch) (memory int) {
	t.Helper()
	memory = branchSize
	for i := range n.len() {
		count, first := uint32(0), n.leftmost(i).first()
		if n.leaves != nil {
			count = uint32(n.leaves[i].len())
			if n.leaves[i].up != n {
				t.Fatal("a leaf with another parent")
			}
		} else {
			count = n.below[i].total()
			memory += checkBranch(t, n.below[i])
			if n.below[i].up != n {
				t.Fatal("a branch with another parent")
			}
		}
		if count != n.counts[i] || first != n.firsts[i] {
			t.Fatalf("child %d with %d entries from %x on, said to be %d from %x", i, count, first, n.counts[i], n.firsts[i])
		}
	}
	return memory
}

func checkIndex(t *testing.T, x *index, count int) (evicted int) {
	t.Helper()
	used, memory, due := 0, 0, 0
	for i, s := range x.buckets {
		if i > 0 && s == x.buckets[i-1] {
			continue
		}
		if due += s.cost(); x.paged && (s.Dirty != (s.Whole || len(s.ops) > s.written) || s.Whole && s.ops != nil || !s.Stored && !s.Whole) {
			t.Fatalf("bucket %x has %d changes: %+v", s.id(), len(s.ops)-s.written, s.DeltaState)
		}
		memory += bucketSize + (len(s.slots)+cap(s.ops))*8 + cap(s.filter)
		if s.Evicted {
			evicted++
			used += int(s.used)
			if int(s.used)*fullDenominator > mostBucket*fullNumerator && s.depth < maxDepth {
				t.Fatalf("a bucket of %d entries", s.used)
			}
			if s.slots != nil || s.Whole {
				t.Fatal("a bucket that changed is evicted")
			}
			continue
		}
		n := 0
		for _, e := range s.slots {
			if e == 0 {
				continue
			}
			n++
			if x.bucket(uint32(e>>32)) != s {
				t.Fatalf("hash %x is in another bucket", e>>32)
			}
		}
		if n != int(s.used) {
			t.Fatalf("bucket of %d, said to be %d", n, s.used)
		}
		used += n
	}
	if used != count || memory != x.memory || due != x.pages.Due {
		t.Fatalf("index of %d and %d bytes, want %d and %d; writing it costs %d, counted %d", used, memory, count, x.memory, due, x.pages.Due)
	}
	return evicted
}
