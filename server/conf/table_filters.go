package conf

import (
	"errors"
	"math"
	"strconv"
)

// filtersRows are the defaults of filters that commands make without being told their shape.
func filtersRows() []directive {
	const maxInitial, maxExpansion = 1 << 30, 32768
	return []directive{
		{name: "bf-error-rate", kind: errorRate(), def: "0.01", flags: shared,
			doc: "Rate of false positives of a Bloom filter; above 0.25 counts as 0.25.",
			set: func(s *Settings, v value) { s.BloomErrorRate = v.numbers[0] }},
		{name: "bf-initial-size", kind: integer(1, maxInitial), def: "100", flags: shared,
			doc: "Items that a Bloom filter is made for.",
			set: func(s *Settings, v value) { s.BloomInitialSize = v.n }},
		{name: "bf-expansion-factor", kind: integer(0, maxExpansion), def: "2", flags: shared,
			doc: "Items of a layer of a Bloom filter over those of the layer before; with 0 it does not grow.",
			set: func(s *Settings, v value) { s.BloomExpansionFactor = v.n }},
		{name: "cf-bucket-size", kind: integer(1, 255), def: "2", flags: shared,
			doc: "Slots of a bucket of a cuckoo filter.",
			set: func(s *Settings, v value) { s.CuckooBucketSize = v.n }},
		{name: "cf-initial-size", kind: integer(2, maxInitial), def: "1024", flags: shared,
			doc: "Slots of a cuckoo filter: two buckets at least.",
			set: func(s *Settings, v value) { s.CuckooInitialSize = v.n }},
		{name: "cf-max-iterations", kind: integer(1, math.MaxUint16), def: "20", flags: shared,
			doc: "How often an item of a cuckoo filter is moved for another one before the filter grows.",
			set: func(s *Settings, v value) { s.CuckooMaxIterations = v.n }},
		{name: "cf-expansion-factor", kind: integer(0, maxExpansion), def: "1", flags: shared,
			doc: "Slots of a sub-filter of a cuckoo filter over those of the one before; with 0 it does not grow.",
			set: func(s *Settings, v value) { s.CuckooExpansionFactor = v.n }},
		{name: "cf-max-expansions", kind: integer(1, 1<<16), def: "32", flags: shared,
			doc: "Sub-filters of a cuckoo filter from which on it takes no more items.",
			set: func(s *Settings, v value) { s.CuckooMaxExpansions = v.n }},
		{name: "module-list-bf", kind: yesNo(), def: "no", flags: shared,
			doc: "List the module bf in MODULE LIST, HELLO and INFO, where some clients look before they use filters and sketches.",
			set: func(s *Settings, v value) { s.ModuleListBF = v.n != 0 }},
	}
}

// errorRate is a rate of false positives.
func errorRate() kind {
	const most = 0.25
	return single("number above 0 and below 1", func(s string) (value, error) {
		rate, err := strconv.ParseFloat(s, 64)
		if err != nil || !(rate > 0 && rate < 1) {
			return value{}, errors.New("argument must be a number above 0 and below 1")
		}
		if rate > most {
			rate = most
		}
		return value{text: strconv.FormatFloat(rate, 'g', -1, 64), numbers: []float64{rate}}, nil
	}, plain)
}
