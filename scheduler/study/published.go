package study

import "math"

// law is at which rate a policy crawls a page when a crawl costs a price. It falls
// with the price.
type law func(p *Page, price float64) float64

// harmonic are the rates of LambdaCrawl: those that are best for the sum of
// -m ln(r/(r+D)).
func harmonic(p *Page, v float64) float64 {
	return (math.Sqrt(p.Change*p.Change+4*p.Importance*p.Change/v) - p.Change) / 2
}

// binary are the rates of BinaryLambdaCrawl: those that are best when times are drawn.
func binary(p *Page, v float64) float64 {
	return max(0, math.Sqrt(p.Importance*p.Change/v)-p.Change)
}

// equalGaps are the rates that are best with equal gaps, which no policy can do better
// than without signals: m/D (1 - exp(-u)(1+u)) = v for the gap u/D.
func equalGaps(p *Page, v float64) float64 {
	want := v * p.Change / p.Importance
	if want >= 1 {
		return 0
	}
	low, high := 0.0, 64.0
	u := math.Sqrt(2 * want)
	for range bisections { // Newton, unless that leaves where the root must be
		f := -math.Expm1(-u) - u*math.Exp(-u) - want
		if f < 0 {
			low = u
		} else {
			high = u
		}
		next := u - f/(u*math.Exp(-u))
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-u) <= 1e-15*u {
			break
		}
		u = next
	}
	return p.Change / u
}

// rates returns how often each page is crawled a day under a law with a budget of
// crawls a day. With polite, hosts allow no more than their requests: a host whose
// pages want more at the price of all has a price of its own.
func rates(pages []Page, l law, budget float64, polite bool) []float64 {
	own := make([]float64, hostsOf(pages)) // the least price of a host
	if polite {
		byHost := make([][]*Page, len(own))
		for i := range pages {
			if !math.IsInf(pages[i].Requests, 1) {
				byHost[pages[i].Host] = append(byHost[pages[i].Host], &pages[i])
			}
		}
		for h, members := range byHost {
			if len(members) > 0 {
				own[h] = priceOf(members[0].Requests, func(v float64) (sum float64) {
					for _, p := range members {
						sum += l(p, v)
					}
					return sum
				})
			}
		}
	}
	v := priceOf(budget, func(v float64) (sum float64) {
		for i := range pages {
			sum += l(&pages[i], max(v, own[pages[i].Host]))
		}
		return sum
	})
	out := make([]float64, len(pages))
	for i := range pages {
		out[i] = l(&pages[i], max(v, own[pages[i].Host]))
	}
	return out
}

// priceOf returns the price at which demand falls to a supply.
func priceOf(supply float64, demand func(v float64) float64) float64 {
	low, high := math.Log(1e-12), math.Log(1e12)
	for range bisections {
		if v := (low + high) / 2; demand(math.Exp(v)) > supply {
			low = v
		} else {
			high = v
		}
	}
	return math.Exp((low + high) / 2)
}

// fresh returns the shares of fresh copies with crawls at drawn times and in equal gaps.
func fresh(pages []Page, rates []float64) (drawn, equal float64) {
	for i, r := range rates {
		if p := &pages[i]; r > 0 {
			drawn += p.Importance * r / (r + p.Change)
			equal += p.Importance * r / p.Change * -math.Expm1(-p.Change/r)
		}
	}
	all := importance(pages)
	return drawn / all, equal / all
}

// uniformRates and proportionalRates need no price.
func uniformRates(pages []Page, budget float64) []float64 {
	out := make([]float64, len(pages))
	for i := range out {
		out[i] = budget / float64(len(pages))
	}
	return out
}

func proportionalRates(pages []Page, budget float64) []float64 {
	sum := 0.0
	for i := range pages {
		sum += pages[i].Change
	}
	out := make([]float64, len(pages))
	for i := range out {
		out[i] = budget * pages[i].Change / sum
	}
	return out
}
