package scheduler

// indexPolicy probes the nodes with the greatest pi tau (tau+1) / 2.
//
// That is the Whittle index of the probing problem: charge a price v for each
// probe of one node alone; waiting T steps between probes costs pi (T+1)/2 + v/T
// a step, and T+1 is no better than T exactly when v <= pi T (T+1)/2. It is also
// the limit of [Interest.Index] for decays that go to zero, up to a factor.
// Measured cost is within 1 % of LB3 for ten nodes and more.
//
// With weights and costs pi is replaced by w pi / C.
var indexPolicy = PolicySpec{
	Name: "index", Number: 1, Estimator: "change",
	New: func() Policy { return &ranking{value: ageIndex} },
}

func ageIndex(n *Node, age int64) float64 {
	return n.Worth() * float64(age) * float64(age+1) / 2
}
