package schedule

// The leases are a binary heap of slots, the lease that ends first at the root.
// Each leased seat knows its place, so OBSERVE and FAIL take it out in
// O(log n) and the heap never holds more than the nodes that are leased now.

// lease puts the node in a slot on the heap and hides it.
func (s *Schedule) lease(slot int) {
	s.table.Hide(slot, true)
	s.leases = append(s.leases, int32(slot))
	s.seat(slot).place = int32(len(s.leases))
	s.up(len(s.leases) - 1)
}

// unlease takes the node in a slot off the heap, if it is on it, and shows it.
func (s *Schedule) unlease(slot int) {
	st := s.seat(slot)
	if st.place == 0 {
		return
	}
	s.table.Hide(slot, false)
	i, last := int(st.place)-1, len(s.leases)-1
	st.place = 0
	moved := s.leases[last]
	s.leases = s.leases[:last]
	if i == last {
		return
	}
	s.leases[i] = moved
	s.seat(int(moved)).place = int32(i + 1)
	s.up(i)
	s.down(int(s.seat(int(moved)).place) - 1)
}

// expire shows the nodes whose lease ended at or before now. What is stored of
// them stays: a lease is over because of the time, not because of a flag.
func (s *Schedule) expire(now int64) {
	for len(s.leases) > 0 {
		slot := int(s.leases[0])
		if s.seat(slot).until > now {
			return
		}
		s.unlease(slot)
		s.policy.Touch(slot)
	}
}

func (s *Schedule) earlier(i, j int) bool {
	return s.seat(int(s.leases[i])).until < s.seat(int(s.leases[j])).until
}

func (s *Schedule) swap(i, j int) {
	s.leases[i], s.leases[j] = s.leases[j], s.leases[i]
	s.seat(int(s.leases[i])).place = int32(i + 1)
	s.seat(int(s.leases[j])).place = int32(j + 1)
}

func (s *Schedule) up(i int) {
	for i > 0 && s.earlier(i, (i-1)/2) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *Schedule) down(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(s.leases) && s.earlier(child+1, child) {
			child++
		}
		if child >= len(s.leases) || !s.earlier(child, i) {
			return
		}
		s.swap(i, child)
		i = child
	}
}
