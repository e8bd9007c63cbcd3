package placement

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactMoves is the formula of joint summed round by round in rational
// arithmetic, from the spans alone. Endless tables are summed in closed form.
func exactMoves(a, b side, points int64, visit func(from, to int, share *big.Rat)) {
	one := big.NewRat(1, 1)
	na, nb := len(a.shares), len(b.shares)
	cells := make(map[[2]int]*big.Rat)
	at := func(x, y int) *big.Rat {
		if cells[[2]int{x, y}] == nil {
			cells[[2]int{x, y}] = new(big.Rat)
		}
		return cells[[2]int{x, y}]
	}
	used := new(big.Rat)
	for p := range points {
		x, y := ownerOf(a.spans, uint64(p)), ownerOf(b.spans, uint64(p))
		if x >= 0 || y >= 0 {
			at(x, y).Add(at(x, y), big.NewRat(1, points))
			used.Add(used, big.NewRat(1, points))
		}
	}
	free := new(big.Rat).Sub(one, used)
	// place returns where k draws and the fall-back put an object.
	place := func(s side, n, k int) []*big.Rat {
		out := make([]*big.Rat, n)
		miss := new(big.Rat).Set(one)
		hit := make([]*big.Rat, n)
		all := new(big.Rat)
		for i := range hit {
			hit[i], out[i] = new(big.Rat), new(big.Rat)
		}
		for _, sp := range s.spans {
			m := big.NewRat(int64(sp.hi-sp.lo), points)
			hit[sp.unit].Add(hit[sp.unit], m)
			all.Add(all, m)
		}
		if s.rounds == 0 {
			for i := range out {
				out[i].Quo(hit[i], all)
			}
			return out
		}
		for range k {
			for i := range out {
				out[i].Add(out[i], new(big.Rat).Mul(miss, hit[i]))
			}
			miss.Mul(miss, new(big.Rat).Sub(one, all))
		}
		out[s.fallback].Add(out[s.fallback], miss)
		return out
	}
	moves := make([][]*big.Rat, na)
	for i := range moves {
		moves[i] = make([]*big.Rat, nb)
		for k := range moves[i] {
			moves[i][k] = new(big.Rat)
		}
	}
	add := func(x, y int, f *big.Rat, factors ...*big.Rat) {
		p := new(big.Rat).Set(f)
		for _, q := range factors {
			p.Mul(p, q)
		}
		moves[x][y].Add(moves[x][y], p)
	}
	round := func(f *big.Rat, pa, pb []*big.Rat) {
		for k, p := range cells {
			switch {
			case k[0] >= 0 && k[1] >= 0:
				add(k[0], k[1], f, p)
			case k[1] < 0:
				for y := range nb {
					add(k[0], y, f, p, pb[y])
				}
			default:
				for x := range na {
					add(x, k[1], f, p, pa[x])
				}
			}
		}
	}
	if a.rounds == 0 {
		round(new(big.Rat).Inv(used), place(a, na, 0), place(b, nb, 0))
	} else {
		f := new(big.Rat).Set(one)
		rounds := min(a.rounds, b.rounds)
		for i := 1; i <= rounds; i++ {
			round(f, place(a, na, a.rounds-i), place(b, nb, b.rounds-i))
			f.Mul(f, free)
		}
		pa, pb := place(a, na, a.rounds-rounds), place(b, nb, b.rounds-rounds)
		for x := range na {
			for y := range nb {
				add(x, y, f, pa[x], pb[y])
			}
		}
	}
	for x := range na {
		for y := range nb {
			if x != y && moves[x][y].Sign() > 0 {
				visit(x, y, moves[x][y])
			}
		}
	}
}

func ownerOf(spans []span, p uint64) int {
	for _, s := range spans {
		if p >= s.lo && p < s.hi {
			return int(s.unit)
		}
	}
	return -1
}

// TestMovesAgreeWithRationalArithmetic checks every pair, and their sum, to
// 1e-12; a map promises 1e-9.
func TestMovesAgreeWithRationalArithmetic(t *testing.T) {
	seed := uint64(31)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 150 {
		endless := rng.IntN(3) == 0
		a, b := randomSide(rng, endless), randomSide(rng, endless)
		j := join(a, b, 32)
		got := make(map[[2]int]float64)
		sum := 0.0
		j.visit(func(x, y int, share Fraction) {
			if _, twice := got[[2]int{x, y}]; twice || share <= 0 {
				t.Fatalf("pair %d %d: visited twice, or with %v", x, y, share)
			}
			got[[2]int{x, y}] = float64(share)
			sum += float64(share)
		})
		exactMoves(a, b, 32, func(x, y int, share *big.Rat) {
			want, _ := share.Float64()
			if math.Abs(got[[2]int{x, y}]-want) > 1e-12 {
				t.Fatalf("%d to %d: got %v, want %v\n%+v\n%+v", x, y, got[[2]int{x, y}], want, a, b)
			}
			delete(got, [2]int{x, y})
		})
		for pair, share := range got {
			if share > 1e-12 {
				t.Fatalf("%v: got %v, want none", pair, share)
			}
		}
		if math.Abs(float64(j.moved())-sum) > 1e-12 {
			t.Fatalf("moved: got %v, pairs add to %v", j.moved(), sum)
		}
	}
}

// randomSide returns spans over 32 points, with at least one.
func randomSide(rng *rand.Rand, endless bool) side {
	n := 1 + rng.IntN(5)
	s := side{shares: make([]float64, n)}
	all := 0.0
	for at := uint64(rng.IntN(3)); at < 30; {
		hi := min(32, at+1+rng.Uint64N(8))
		u := rng.IntN(n)
		s.spans = append(s.spans, span{at, hi, int32(u)})
		s.shares[u] += float64(hi - at)
		all += float64(hi - at)
		at = hi + rng.Uint64N(9)
	}
	for i := range s.shares {
		s.shares[i] /= all
	}
	s.miss = 1 - all/32
	if !endless {
		s.rounds, s.fallback = 1+rng.IntN(6), rng.IntN(n)
	}
	return s
}
