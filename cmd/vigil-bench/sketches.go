package main

// pfAdd is what the other server is sent beside filters and sketches, for which it may lack the modules.
var pfAdd = words("-r 1000000 pfadd hll item:__rand_int__")

// sketchCases are calls of filters and sketches, each of one key.
var sketchCases = []benchCase{
	{name: "PFADD", pipeline: 16, args: pfAdd},
	{name: "BF.ADD", pipeline: 16, args: words("-r 1000000 bf.add bloom item:__rand_int__"), before: []string{"bf.reserve bloom 0.01 1000000"}, peer: pfAdd},
	{name: "BF.EXISTS", pipeline: 16, args: words("-r 1000000 bf.exists bloom item:__rand_int__"), peer: pfAdd},
	{name: "CF.ADD", pipeline: 16, args: words("-r 1000000 cf.add cuckoo item:__rand_int__"), before: []string{"cf.reserve cuckoo 16000000"}, peer: pfAdd},
	{name: "CF.EXISTS", pipeline: 16, args: words("-r 1000000 cf.exists cuckoo item:__rand_int__"), peer: pfAdd},
	{name: "CMS.INCRBY, 2000 x 7", pipeline: 16, args: words("-r 1000000 cms.incrby sketch item:__rand_int__ 1"), before: []string{"cms.initbydim sketch 2000 7"}, peer: pfAdd},
	{name: "TOPK.ADD, 8 x 7", pipeline: 16, args: words("-r 1000000 topk.add top item:__rand_int__"), before: []string{"topk.reserve top 10"}, peer: pfAdd},
	{name: "TOPK.ADD, 1000 x 5", pipeline: 16, args: words("-r 1000000 topk.add wide item:__rand_int__"), before: []string{"topk.reserve wide 10 1000 5 0.9"}, peer: pfAdd},
	{name: "TDIGEST.ADD", pipeline: 16, args: words("-r 1000000 tdigest.add digest __rand_int__"), before: []string{"tdigest.create digest"}, peer: pfAdd},
	{name: "TDIGEST.QUANTILE of .5", pipeline: 16, args: words("tdigest.quantile digest 0.5"), peer: pfAdd},
}

// sketches measures filters and sketches, beside PFADD of the other server.
func sketches(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		r.section("Filters and sketches", "P=16, 10^6 different items. The other server, which may lack the modules, is sent PFADD in all rows: ratios are to that. "+
			"On one machine RedisBloom of June 2026 took .81 us of CPU for PFADD, 1.27 for BF.ADD, 1.37 for BF.EXISTS, 1.36 for CF.ADD, 1.28 for CF.EXISTS, 1.26 for CMS.INCRBY, "+
			"1.36 and .99 for TOPK.ADD, 1.01 for TDIGEST.ADD and 1.35 for TDIGEST.QUANTILE.")
		return comparisons(o, r, sketchCases, ours, redis)
	})
}
