// Package scheduler decides which nodes to look at next.
//
// The model. There are n nodes. At node i items appear at rate pi_i a step and
// wait until the node is probed; at most c nodes are probed in a step. Time
// goes in steps t = 1, 2, ... and one step's worth of items exists before step
// 1. In step t the queues are read, then the probes of the step collect
// everything generated in steps up to t-1, then step t generates its items.
// The age of a node is tau_i(t) = t - last_i, with last_i = 0 before the first
// probe, so that a queue holds pi_i tau_i(t) items on average. The cost of a
// schedule is the long-run mean of the sum of the queues: probing every T
// steps costs pi (T+1)/2, and no schedule costs less than the sum of pi.
//
// In the second model content is ephemeral: items at node i come at rate
// lambda_i, their interest decays by exp(-c_i) a step, and a probe earns what
// interest is there (see [Interest]).
//
// The one idea: a [Policy] keeps what it needs to answer quickly in structures
// derived from a [Table] of nodes. Everything that must survive is in the
// table (and is stored by package structures/schedule); everything in a policy can be
// rebuilt from it. Policies that draw get their randomness as an argument, and
// what is recorded is the outcome, so that replay draws nothing.
//
// Symbols. pi rate, w weight of an item, C price of a probe, c probes a step, tau
// age, f probes a step of one node, T gap between probes. With weights and prices
// policies of the first model put the worth w pi/C of a node where the theory has
// pi. As a step has c probes whatever they cost, C is a discount on what waits at
// a node and not a share of a budget: the cost then is the mean of the sum of
// (w pi/C) tau, and the bounds of the worths bound it.
//
// Bounds and costs. LB1 <= LB2 <= LB3 <= the cost of any schedule with c probes a
// step. Exact: [MemorylessCost], [CyclicCost], [RoundRobinCost]; [PeriodOf] for
// policies whose choice depends on rates and ages alone. Proven in P1 and checked
// here against the optimum of small instances and at random:
//
//	Theorem 1      LB1 <= any cost
//	Theorem 2      cyclic <= 3 LB1              c > 1 (Corollary 3): 3 + (c-1)/c
//	Theorem 3      memoryless is the best memoryless schedule for c = 1
//	Corollary 4    memoryless <= 2 LB1          c > 1 (Corollary 5): 2 + (c-1)/c
//	Lemma 3, 4     adaptive draws with at least 1/(n sqrt t) and converges
//	Section 4.1    greedy costs n/4 and more on pi_i = 2^-i, where index costs 3.3
//
// Sources:
//   - P1: A. Mahmoody, E. M. Kornaropoulos and E. Upfal, "Optimizing Static and
//     Adaptive Probing Schedules for Rapid Event Detection": lower bound (Theorem
//     1), cyclic schedule (Lemma 2), memoryless schedule (Theorem 3),
//     Algorithm 1 (Adaptive). Misprints corrected here: Definition 2 is an
//     ordered c-tuple of independent draws; Lemma 2 says "every 2^-i steps" for
//     2^r_i; Lemma 3 needs estimates of at most 1, which bursts break by a
//     constant; the probability of F in Theorem 4 is at least, not less than, the
//     bound, and A converges to R, not S, only as t grows without bound. "If pi
//     changes, Adaptive converges" is true in that sense alone: it takes a time in
//     proportion to the age of the system.
//   - P2: K. Avrachenkov and V. S. Borkar, "A learning algorithm for the Whittle
//     index policy for scheduling web crawlers", Allerton 2019. Misprints
//     corrected here: the objective is the interest collected by probes (the
//     factor nu is missing in places), and with a finite maximal age the mean
//     interest stops growing at that age (the printed u contradicts the reset).
//   - K. Avrachenkov, K. Patil and G. Thoppe, "Change rate estimation and optimal
//     freshness in web page crawling", 2020, and J. Cho and H. Garcia-Molina,
//     "Estimating frequency of change", 2003: the estimator binary.
//   - C. A. Waldspurger and W. E. Weihl, "Stride scheduling", 1995: stride.
//   - E. S. Page, "Continuous inspection schemes", 1954: the alarms of the
//     estimators change and binary.
//
// It promises the same answer for the same table, step and draws on every
// machine that rounds as IEEE 754 says: sums that decide something are kept out
// of fused multiply-add. It does not know of names, leases, clocks or storage.
package scheduler
