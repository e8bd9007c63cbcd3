package placement

// Moves follows the hashes of an object one after another. Let A and B be the
// arcs that cover its point here and there, and U their union. The arc of U
// that attracts it most is each with probability 1/|U|; if that one is in A
// only, the object is there here, and there at each of B with probability
// 1/|B|, independently. With f the share of points that nobody covers in
// either map, and p(a), q(b) the chances to end at a, b from a fresh hash with
// i tries left, the move from a to b is the sum over tries of f^i times
// P(a, b) + P(a, free) q(b) + P(free, b) p(a).
func (s *share) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*share)
	if len(s.units) == 0 || len(t.units) == 0 {
		return
	}
	j := jointFrames{s: s, t: t, onlyS: map[int32]float64{}, onlyT: map[int32]float64{}}
	repeat := j.free()
	weight, again := 0.0, 1.0
	for range shareTries {
		weight += again
		again *= repeat
	}
	put := func(from, to int32, share float64) {
		if from != to && share > 0 {
			visit(int(from), int(to), Fraction(share))
		}
	}
	overlay(func(i int) uint64 { return s.ends[i] }, func(i int) uint64 { return t.ends[i] },
		func(a, b int, share Fraction) { j.frame(a, b, float64(share)*weight, float64(share), put) })
	j.later(repeat, put)
	j.all(again, put)
}

// jointFrames is the state of one walk over the frames of two maps.
type jointFrames struct {
	s, t         *share
	onlyS, onlyT map[int32]float64 // P(a, free) and P(free, b) of one try, by unit
}

// free returns the share of points without cover in both maps.
func (j *jointFrames) free() float64 {
	var f float64
	overlay(func(i int) uint64 { return j.s.ends[i] }, func(i int) uint64 { return j.t.ends[i] },
		func(a, b int, share Fraction) {
			if len(j.s.cover(a)) == 0 && len(j.t.cover(b)) == 0 {
				f += float64(share)
			}
		})
	return f
}

// cover returns the numbers of the arcs that cover a frame.
func (s *share) cover(f int) []int32 { return s.members[s.first[f]:s.first[f+1]] }

// frame visits the moves of objects whose point lies in frame a here and b
// there; share is of all tries, once of one.
func (j *jointFrames) frame(a, b int, share, once float64, put func(from, to int32, share float64)) {
	as, bs := j.s.cover(a), j.t.cover(b)
	switch {
	case len(as) == 0 && len(bs) == 0:
		return
	case len(bs) == 0:
		for _, m := range as {
			j.onlyS[j.s.arcs[m].unit] += once / float64(len(as))
		}
		return
	case len(as) == 0:
		for _, m := range bs {
			j.onlyT[j.t.arcs[m].unit] += once / float64(len(bs))
		}
		return
	}
	common := j.common(as, bs)
	each := share / float64(len(as)+len(bs)-common)
	if common < len(as) {
		j.differ(as, bs, func(m int32) {
			for _, k := range bs {
				put(j.s.arcs[m].unit, j.t.arcs[k].unit, each/float64(len(bs)))
			}
		}, nil)
	}
	if common < len(bs) {
		j.differ(as, bs, nil, func(k int32) {
			for _, m := range as {
				put(j.s.arcs[m].unit, j.t.arcs[k].unit, each/float64(len(as)))
			}
		})
	}
}

// common counts the arcs in both of two covers.
func (j *jointFrames) common(as, bs []int32) int {
	n := len(as)
	j.differ(as, bs, func(int32) { n-- }, nil)
	return n
}

// differ calls inA for what is in as alone and inB for what is in bs alone.
// Arcs ascend by unit, piece and circle in both maps; the key identifies them.
func (j *jointFrames) differ(as, bs []int32, inA, inB func(int32)) {
	for len(as) > 0 || len(bs) > 0 {
		switch order := j.compare(as, bs); {
		case order == 0:
			as, bs = as[1:], bs[1:]
		case order < 0:
			if inA != nil {
				inA(as[0])
			}
			as = as[1:]
		default:
			if inB != nil {
				inB(bs[0])
			}
			bs = bs[1:]
		}
	}
}

// compare orders the first arcs of two covers, an exhausted one last.
func (j *jointFrames) compare(as, bs []int32) int {
	switch {
	case len(as) == 0:
		return 1
	case len(bs) == 0:
		return -1
	}
	a, b := &j.s.arcs[as[0]], &j.t.arcs[bs[0]]
	if a.unit != b.unit {
		return int(a.unit) - int(b.unit)
	}
	if a.piece != b.piece {
		return int(a.piece) - int(b.piece)
	}
	return int(a.circle) - int(b.circle)
}

// later visits the moves of objects that are placed by one map while the other
// hashes them again.
func (j *jointFrames) later(repeat float64, put func(from, to int32, share float64)) {
	if len(j.onlyS) == 0 && len(j.onlyT) == 0 {
		return
	}
	reach := 1.0
	for left := shareTries - 1; left >= 0; left-- {
		for b, q := range j.t.marginal(left) {
			for a, p := range j.onlyS {
				put(a, j.t.units[b], reach*p*q)
			}
		}
		for a, p := range j.s.marginal(left) {
			for b, q := range j.onlyT {
				put(j.s.units[a], b, reach*p*q)
			}
		}
		reach *= repeat
	}
}

// marginal returns the chance to end at each unit with some tries left.
func (s *share) marginal(tries int) []float64 {
	out := make([]float64, len(s.units))
	uncovered := 0.0
	var from uint64
	for f, end := range s.ends {
		cover, w := s.cover(f), float64(width(from, end))
		for _, m := range cover {
			i, _ := s.find(int(s.arcs[m].unit))
			out[i] += w / float64(len(cover))
		}
		if len(cover) == 0 {
			uncovered += w
		}
		from = end + 1
	}
	weight, again := 0.0, 1.0
	for range tries {
		weight += again
		again *= uncovered
	}
	for i := range out {
		out[i] = out[i]*weight + again/float64(len(out))
	}
	return out
}

// all visits the moves of the share of objects that no try placed in either map.
func (j *jointFrames) all(share float64, put func(from, to int32, share float64)) {
	if share == 0 {
		return
	}
	union := len(j.s.units)
	for _, u := range j.t.units {
		if _, both := j.s.find(int(u)); !both {
			union++
		}
	}
	each := share / float64(union)
	for _, a := range j.s.units {
		_, both := j.t.find(int(a))
		for _, b := range j.t.units {
			if !both {
				put(a, b, each/float64(len(j.t.units)))
			}
			if _, known := j.s.find(int(b)); !known {
				put(a, b, each/float64(len(j.s.units)))
			}
		}
	}
}
