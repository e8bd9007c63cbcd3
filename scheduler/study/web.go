package study

import "math"

// Page is a page of a web.
type Page struct {
	Host              int
	Change            float64 // changes a day
	Importance        float64
	Precision, Recall float64 // of signals of changes; recall 0: there are none
	Requests          float64 // a day that the host allows; +Inf: any number
	KiB               float64
}

// splitmix is the output function of splitmix64 after its increment.
func splitmix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// uniform is number k of something with number i, in (0, 1).
func uniform(seed uint64, i, k int) float64 {
	u := splitmix(splitmix(seed^uint64(k)*0xD1342543DE82EF95) ^ uint64(i))
	return (float64(u>>11) + .5) / (1 << 53)
}

// intervals are the classes of mean intervals between changes, in days: log-uniform
// within each. 23 % of pages change within a day, 40 % within a week, as Cho and
// Garcia-Molina saw in .com and in all (2000); the classes are ours.
var intervals = []struct{ below, least, most float64 }{
	{.18, 1. / 24, 1}, {.40, 1, 16}, {.68, 16, 128}, {1, 128, 2048},
}

// Web returns the n pages of a seed: hosts of Zipf sizes, change rates over five
// orders of magnitude, importances with a heavy tail that are higher where more
// changes, signals and limits by host, sizes.
func Web(seed uint64, n int) []Page {
	hosts := max(1, n/50)
	pages := make([]Page, n)
	for i := range pages {
		u := func(k int) float64 { return uniform(seed, i, k) }
		h := min(int(math.Pow(float64(hosts), u(1)))-1, hosts-1)
		p := &pages[i]
		*p = Page{Host: h, Precision: 1, Requests: math.Inf(1)}
		class := 0
		for u(2) >= intervals[class].below {
			class++
		}
		least, most := intervals[class].least, intervals[class].most
		p.Change = 1 / (least * math.Pow(most/least, u(3)))
		p.Importance = min(1e4, math.Pow(u(4), -1/1.2)) * min(4, max(.25, math.Pow(p.Change, .25)))
		ofHost := func(k int) float64 { return uniform(seed, h, k) }
		switch s := ofHost(5); {
		case s < .04:
			p.Precision, p.Recall = 1, 1
		case s < .30:
			p.Precision, p.Recall = .5+.5*ofHost(6), .3+.6*ofHost(7)
		case s < .50:
			p.Precision, p.Recall = .05+.3*ofHost(6), .3+.6*ofHost(7)
		}
		if ofHost(8) >= .5 {
			p.Requests = math.Exp2(8 * ofHost(9))
		}
		p.KiB = 4 * math.Pow(1024, u(10)*u(10))
	}
	return pages
}

// importance is the sum over pages.
func importance(pages []Page) float64 {
	sum := 0.0
	for i := range pages {
		sum += pages[i].Importance
	}
	return sum
}

// hostsOf is one more than the highest host.
func hostsOf(pages []Page) int {
	n := 0
	for i := range pages {
		n = max(n, pages[i].Host+1)
	}
	return n
}

// bisections halve an interval until floats have no more between.
const bisections = 64
