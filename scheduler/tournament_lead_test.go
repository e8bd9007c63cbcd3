package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"
)

// pair draws two contenders of a contest with slots 0 and 1 and their steps of
// the last probe before or in step.
func pair(rng *rand.Rand, name string, step int64) (x, y contender) {
	size := func(power float64) float64 { return math.Pow(10, (rng.Float64()*2-1)*power) }
	draw := func(slot int) contender {
		c := contender{slot: slot, last: step - int64(math.Pow(10, rng.Float64()*3.5)) + 1, scale: size(3)}
		decay := size(2.5) / 10
		if rng.IntN(3) == 0 {
			decay = size(1.5) * 1e-5 // c a is small for long
		}
		switch name {
		case "freshness":
			c.curve.fresh(c.scale, decay)
		case "greedy":
			if rng.IntN(3) > 0 {
				c.curve = curve{c: decay, top: c.scale / decay, full: ahead}
				if rng.IntN(4) == 0 {
					c.curve.full = 1 + rng.Int64N(200)
				}
			}
		case "whittle":
			c.curve.ephemeral(c.scale*decay*decay, decay, int64(rng.IntN(2))*rng.Int64N(200))
		}
		return c
	}
	x, y = draw(0), draw(1)
	switch rng.IntN(4) {
	case 0: // of one kind
		last := y.last
		y = x
		y.slot, y.last = 1, last
	case 1: // nearly of one kind
		y.scale = x.scale * (1 + (rng.Float64()-.5)/100)
		if name == "whittle" {
			y.curve.ephemeral(x.curve.s*(1+(rng.Float64()-.5)/100), x.curve.c*(1+(rng.Float64()-.5)/10), 0)
		}
	case 2: // last bits differ
		y.scale = math.Nextafter(x.scale, 10*float64(rng.IntN(2)))
		if name == "freshness" {
			y.curve.fresh(math.Nextafter(x.curve.s, 1e9), x.curve.c)
		}
	}
	return x, y
}

var contests = map[string]contest{"index": indexContest{}, "sqrtage": sqrtageContest{}, "greedy": greedyContest{},
	"whittle": curveContest{}, "freshness": curveContest{}}

// A lead must never be too long, or picks are wrong; it should be long, or Pick
// is slow: an eighth of what it could be will do, or twice the present age of
// the follower, since then few leads are needed before the next probe. The
// steps that are looked at are the first and last ones of the lead and some
// between.
func TestLeadersStayAheadForTheWholeLead(t *testing.T) {
	for name, rule := range contests {
		const seed = 23
		rng := rand.New(rand.NewPCG(seed, 1))
		short, total := 0, 0
		wants := []int64{4, 1000, ahead, ahead, ahead}
		for round := range 2500 {
			step := int64(4000)
			i, j := pair(rng, name, step)
			at := func(step int64) (vi, vj float64) {
				if step > i.last {
					vi = rule.value(&i, step-i.last)
				}
				if step > j.last {
					vj = rule.value(&j, step-j.last)
				}
				return vi, vj
			}
			before := func(step int64) bool {
				vi, vj := at(step)
				return candidate{vi, i.slot}.before(candidate{vj, j.slot})
			}
			if !before(step) {
				i, j = j, i
			}
			vi, vj := at(step)
			if vi < tiny || (vj < tiny && j.last < step) {
				continue
			}
			i.want = wants[rng.IntN(len(wants))]
			lead := rule.lead(&i, &j, vi, vj, step)
			if lead < 1 {
				t.Fatalf("%s seed %d round %d: lead %d", name, seed, round, lead)
			}
			for _, h := range offsets(rng, lead) {
				if !before(step + h) {
					t.Fatalf("%s seed %d round %d: lead %d, but lost at %d: %+v %+v", name, seed, round, lead, h, i, j)
				}
			}
			total++
			h := int64(1)
			for before(step+h) && h < 100_000 {
				h += 1 + h/20
			}
			if lead < min(h/8, 2*max(1, step-j.last)) {
				short++
			}
		}
		t.Logf("%s: %d of %d leads are short", name, short, total)
		if short > total/10 {
			t.Errorf("%s: %d of %d leads are short", name, short, total)
		}
	}
}

// offsets are steps below a lead.
func offsets(rng *rand.Rand, lead int64) []int64 {
	lead = min(lead, 1<<30)
	var list []int64
	for h := range min(lead, 200) {
		list = append(list, h)
	}
	for range 100 {
		list = append(list, rng.Int64N(lead), int64(math.Pow(float64(lead), rng.Float64())))
	}
	for h := lead - 1; h >= 0 && h > lead-50; h-- {
		list = append(list, h)
	}
	for k := range list {
		list[k] = min(list[k], lead-1)
	}
	return list
}
