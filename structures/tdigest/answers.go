package tdigest

import "math"

// Snapshot is a digest whose buffer is merged, from which answers are read. Between the means of two neighbours
// values count as spread evenly, half of the weight of each on either side of it, but for centroids of
// one value, which is where it is.
type Snapshot struct {
	centroids []centroid
	min, max  float64
	total     int64
}

// Range returns the least and the greatest value, NaN if there are none.
func (s *Snapshot) Range() (least, greatest float64) {
	if len(s.centroids) == 0 {
		return math.NaN(), math.NaN()
	}
	return s.min, s.max
}

func (s *Snapshot) weight(i int) float64 { return float64(s.centroids[i].weight) }
func (s *Snapshot) mean(i int) float64   { return s.centroids[i].mean }

// Quantile returns the value below which a part q of all values is, NaN if there are none.
func (s *Snapshot) Quantile(q float64) float64 { return s.quantile(q, 0) }

// quantile is Quantile, for which places below least are that of the least value.
func (s *Snapshot) quantile(q, least float64) float64 {
	n, total := len(s.centroids), float64(s.total)
	switch n {
	case 0:
		return math.NaN()
	case 1:
		return s.mean(0)
	}
	x := float64(q * total)
	first, last := s.weight(0), s.weight(n-1)
	switch {
	case x < least:
		return s.min
	case first > 1 && x < first/2:
		return s.min + float64((x-1)/(first/2-1)*(s.mean(0)-s.min))
	case x > total-1:
		return s.max
	case last > 1 && total-x <= last/2:
		return s.max - float64((total-x-1)/(last/2-1)*(s.max-s.mean(n-1)))
	}
	return s.between(x, first/2)
}

// between returns the value at place x, from the centroid on whose middle is at place at.
func (s *Snapshot) between(x, at float64) float64 {
	for i := range len(s.centroids) - 1 {
		d := (s.weight(i) + s.weight(i+1)) / 2
		if at+d <= x {
			at += d
			continue
		}
		left, right := 0.0, 0.0
		if s.weight(i) == 1 {
			if x-at < 0.5 {
				return s.mean(i)
			}
			left = 0.5
		}
		if s.weight(i+1) == 1 {
			if at+d-x <= 0.5 {
				return s.mean(i + 1)
			}
			right = 0.5
		}
		z1, z2 := x-at-left, at+d-x-right
		mid := (float64(s.mean(i)*z2) + float64(s.mean(i+1)*z1)) / (z2 + z1)
		return max(s.mean(i), min(mid, s.mean(i+1)))
	}
	return s.max
}

// CDF returns the part of all values that are below v, half of those at v included, NaN if there are none.
func (s *Snapshot) CDF(v float64) float64 {
	n, total := len(s.centroids), float64(s.total)
	switch {
	case n == 0:
		return math.NaN()
	case v < s.min:
		return 0
	case v > s.max:
		return 1
	case n == 1:
		if v-s.min <= s.max-s.min {
			return 0.5
		}
		return (v - s.min) / (s.max - s.min)
	case v < s.mean(0):
		if width := s.mean(0) - s.min; width <= 0 {
			return 0
		} else if v == s.min {
			return 0.5 / total
		} else {
			return (1 + float64((v-s.min)/width*(s.weight(0)/2-1))) / total
		}
	case v > s.mean(n-1):
		if width := s.max - s.mean(n-1); width <= 0 {
			return 1
		} else if v == s.max {
			return 1 - 0.5/total
		} else {
			return 1 - (1+float64((s.max-v)/width*(s.weight(n-1)/2-1)))/total
		}
	}
	return s.cdfBetween(v, total)
}

// cdfBetween is CDF from the first mean to the last one.
func (s *Snapshot) cdfBetween(v, total float64) float64 {
	before := 0.0
	for i := range s.centroids {
		if s.mean(i) == v {
			equal := 0.0
			for j := i; j < len(s.centroids) && s.mean(j) == v; j++ {
				equal += s.weight(j)
			}
			return (before + equal/2) / total
		}
		if i+1 < len(s.centroids) && s.mean(i) <= v && v < s.mean(i+1) {
			if s.weight(i) == 1 && s.weight(i+1) == 1 {
				return (before + 1) / total
			}
			left, right := 0.0, 0.0
			if s.weight(i) == 1 {
				left = 0.5
			}
			if s.weight(i+1) == 1 {
				right = 0.5
			}
			d := (s.weight(i) + s.weight(i+1)) / 2
			part := float64((d-left-right)*(v-s.mean(i))) / (s.mean(i+1) - s.mean(i))
			return (before + s.weight(i)/2 + left + part) / total
		}
		before += s.weight(i)
	}
	return 1 - 0.5/total
}

// Results of Rank and RevRank beside places.
const (
	rankEmpty   = -2
	rankOutside = -1
)

// Rank returns how many values are below v: -1 if all are above it, -2 if there are none.
func (s *Snapshot) Rank(v float64) int64 {
	switch {
	case len(s.centroids) == 0:
		return rankEmpty
	case v < s.min:
		return rankOutside
	case v > s.max:
		return s.total
	}
	whole, part := math.Modf(float64(s.CDF(v) * float64(s.total)))
	if part > 0.5 {
		whole++
	}
	return int64(whole)
}

// RevRank returns how many values are above v: -1 if all are below it, -2 if there are none.
func (s *Snapshot) RevRank(v float64) int64 {
	switch {
	case len(s.centroids) == 0:
		return rankEmpty
	case v > s.max:
		return rankOutside
	case v < s.min:
		return s.total
	}
	return s.total - int64(math.Round(float64(s.CDF(v)*float64(s.total))))
}

// ByRank returns the value with that many below it: infinite if there are not so many, NaN if there are none.
func (s *Snapshot) ByRank(rank int64) float64 {
	switch {
	case len(s.centroids) == 0:
		return math.NaN()
	case rank == 0:
		return s.min
	case rank >= s.total:
		return math.Inf(1)
	}
	return s.quantile(float64(rank)/float64(s.total), 1)
}

// ByRevRank returns the value with that many above it: minus infinity if there are not so many, NaN if there are
// none.
func (s *Snapshot) ByRevRank(rank int64) float64 {
	switch {
	case len(s.centroids) == 0:
		return math.NaN()
	case rank == 0:
		return s.max
	case rank >= s.total:
		return math.Inf(-1)
	}
	return s.quantile(float64(s.total-rank-1)/float64(s.total), 1)
}

// TrimmedMean returns the mean of the values from quantile low to quantile high, NaN if there are none.
func (s *Snapshot) TrimmedMean(low, high float64) float64 {
	switch len(s.centroids) {
	case 0:
		return math.NaN()
	case 1:
		return s.mean(0)
	}
	total := float64(s.total)
	from, to := math.Floor(float64(total*low)), math.Ceil(float64(total*high))
	done, sum, count := 0.0, 0.0, 0.0
	for i := range s.centroids {
		w := s.weight(i)
		left := w - min(max(0, from-done), w)
		left = min(max(0, to-done), left)
		sum += float64(s.mean(i) * left)
		count += left
		if done += w; done >= to {
			break
		}
	}
	return sum / count
}
