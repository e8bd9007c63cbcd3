package scheduler

import "math"

// curveLead is the lead of i over j if values are curves, i having value vi at
// age ai >= 0 and j having vj at aj.
//
// Let R be log(fj/fi). The growth f'/f falls with age and with c. So
//
//   - if j is older and cj >= ci, R falls: j never comes level;
//   - if j is younger and cj <= ci, R rises: j comes level at most once;
//   - if j is older and cj < ci, R falls, then rises;
//   - if j is younger and cj > ci, R rises, then falls.
//
// In all but the last case R is below zero all the time between two steps if it
// is in both. In the last case the same holds as long as R still rises in the
// later one, and if it falls now it goes on falling. In any case fi only grows,
// so that it is enough if fj stays below the present fi.
func curveLead(i, j *contender, ai, aj int64, vi, vj float64) int64 {
	x, y := &i.curve, &j.curve
	if lead := curveOrder(i, j, ai, aj); lead > 0 {
		return lead
	}
	if !(vj*(1+leadMargin) < vi) {
		return 1
	}
	// Before a jump of either the curves are as above.
	limit, end := y.top, int64(ahead)
	if y.jumps && aj < y.full {
		end = y.full - aj
	} else if aj >= y.full {
		limit = y.last
	}
	if limit*(1+leadMargin) < vi {
		return end // also if j stands still
	}
	r := duel{x: x, y: y, ai: ai, aj: aj, vi: vi, vj: vj, ei: i.fade, ej: j.fade, standing: ai >= x.full}
	if aj == 0 {
		r.ej = 1
	}
	if x.jumps && !r.standing {
		end = min(end, x.full-ai)
	}
	r.young, r.quick = aj < ai, y.c > x.c
	switch {
	case r.standing: // R rises
	case !r.young && !(y.c < x.c):
		return end
	case !r.young || !r.quick: // the greatest R is now or at the end of time
		if limit*(1+leadMargin) < x.top {
			return end
		}
	case aj > 0:
		gi, gj := x.growth(float64(ai), r.ei, vi), y.growth(float64(aj), r.ej, vj)
		if gj*(1+growthMargin) < gi {
			return end
		}
	}
	want := max(1, i.want)
	sure, exact := r.early(end)
	if exact || sure >= want {
		return max(0, sure) + 1
	}
	return r.search(end, want, sure)
}

// growthMargin is the relative distance of two growths that rounding cannot
// exchange. They have relative errors of some 1e-13.
const growthMargin = 1e-9

// curveOrder is the lead of i over j, if it is ahead for reasons that do not
// need a margin: 0 if it is not.
func curveOrder(i, j *contender, ai, aj int64) int64 {
	x, y := &i.curve, &j.curve
	if ai >= x.full && aj >= y.full {
		return ahead // both stand still
	}
	if x.c != y.c || x.g != y.g || x.full != y.full || x.jumps != y.jumps || !(x.s >= y.s) {
		return 0
	}
	if i.last == j.last && (i.slot < j.slot || x.s > y.s*(1+2e-15)) {
		return ahead
	}
	// Rounded values of one curve grow without a step back: below y = 2 they
	// grow by more than their errors in each step, above it 1 - E and a g E go
	// one way each by more than theirs.
	if ai >= aj && i.slot < j.slot && x.s == y.s && x.c >= 1e-10 {
		return ahead
	}
	return 0
}

// duel is the search for the step in which j comes level with i.
type duel struct {
	x, y     *curve
	ai, aj   int64
	vi, vj   float64 // values now
	ei, ej   float64 // exp(-c a) now
	standing bool    // i is as old as it can get
	young    bool    // j is younger
	quick    bool    // j has the greater c

	fi, gi, fj, gj float64 // values and growth at the offset looked at
	gap            float64 // log(fi/fj) there
}

// searchTries bounds the pairs of values that a search computes, after the one
// where it begins.
const searchTries = 3

// search is the longest lead up to end that a few values certify, or one of at
// least want.
func (d *duel) search(end, want, sure int64) int64 {
	bad := end
	sure = max(sure, d.begin(end, want)) // bad: first offset not known to be safe
	if sure >= want || d.aj == 0 {
		return sure + 1
	}
	if d.fi = d.vi; !d.standing {
		d.gi = d.x.growth(float64(d.ai), d.ei, d.vi)
	}
	d.gap = math.Log(d.fi / d.fj)
	gap, guess := d.gap, max(d.guess(0), d.bend())
	for range searchTries {
		if sure+1 >= bad || sure >= want {
			break
		}
		h := min(max(guess, sure+1), bad-1)
		d.look(h)
		switch {
		case d.safe():
			if guess = d.guess(h); guess <= h+h/16 {
				return h + 1
			}
			sure, gap = h, d.gap
		case d.gap < 0: // j is ahead: where a line would cross zero
			bad, guess = h, sure+int64(float64(h-sure)*(gap/(gap-d.gap)))
		default:
			bad, guess = h, sure+(h-sure)/4
		}
	}
	return sure + 1
}

// bend is the offset of the age 1/c of i, from which its growth falls faster
// than with 1/a: curves of like s change their order there.
func (d *duel) bend() int64 {
	if d.standing {
		return 0
	}
	return int64(min(1/d.x.c, float64(ahead/2))) - d.ai
}

// begin looks at j now and is an offset below end up to which fj stays below vi,
// whatever i does: because the logarithm of f is concave, log x >= 1 - 1/x, and because
// f <= s (h a + g a^2/2), as E <= 1.
func (d *duel) begin(end, want int64) int64 {
	a := 0.0
	if d.aj > 0 {
		d.fj, d.gj = d.vj, d.y.growth(float64(d.aj), d.ej, d.vj)
		a = (1 - d.fj*(1+4*leadMargin)/d.vi) / d.gj * (1 - growthMargin)
	}
	if a < float64(want) {
		h, g := d.y.h, d.y.g
		a = max(a, (math.Sqrt(float64(h*h)+float64(2*g*(d.vi/d.y.s)))-h)/g*(1-leadMargin)-float64(d.aj))
	}
	if a >= float64(end) {
		return end - 1
	}
	return max(0, int64(a)-1)
}

func (d *duel) look(h int64) {
	d.fi, d.gi = d.vi, 0
	if !d.standing {
		d.fi, d.gi = d.x.both(d.ai + h)
	}
	d.fj, d.gj = d.y.both(d.aj + h)
	d.gap = math.Log(d.fi / d.fj)
}

// safe says whether i stays before j from now to the offset looked at.
func (d *duel) safe() bool {
	fj := d.fj * (1 + leadMargin)
	if fj < d.vi {
		return true
	}
	return fj < d.fi && (d.standing || !d.young || !d.quick || d.gj > d.gi*(1+growthMargin))
}

// guess is where j comes level if the logarithms went on as at the offset h
// looked at.
func (d *duel) guess(h int64) int64 {
	far := 4 * float64(d.aj+h)
	if d.gj > d.gi {
		far = min(far, d.gap/(d.gj-d.gi))
	}
	return h + max(1, int64(far))
}
