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
// table (and is stored by package persistence/schedule); everything in a policy can be
// rebuilt from it. Policies that draw get their randomness as an argument, and
// what is recorded is the outcome, so that replay draws nothing.
//
// Sources:
//   - P1: A. Mahmoody, E. M. Kornaropoulos and E. Upfal, "Optimizing Static and
//     Adaptive Probing Schedules for Rapid Event Detection": lower bound (Theorem
//     1), cyclic schedule (Lemma 2), memoryless schedule (Theorem 3),
//     Algorithm 1 (Adaptive). Misprints corrected here: Definition 2 is an
//     ordered c-tuple of independent draws; Lemma 3 needs estimates of at most
//     1, which bursts break by a constant; Theorem 4 says that Adaptive
//     converges to the memoryless schedule only as t grows without bound.
//   - P2: K. Avrachenkov and V. S. Borkar, "A learning algorithm for the Whittle
//     index policy for scheduling web crawlers", Allerton 2019. Misprints
//     corrected here: the objective is the interest collected by probes (the
//     factor nu is missing in places), and with a finite maximal age the mean
//     interest stops growing at that age (the printed u contradicts the reset).
//
// It promises the same answer for the same table, step and draws on every
// machine that rounds as IEEE 754 says: sums that decide something are kept out
// of fused multiply-add. It does not know of names, leases, clocks or storage.
package scheduler
