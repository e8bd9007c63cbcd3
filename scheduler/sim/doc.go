// Package sim plays policies of package scheduler against nodes whose truth is
// known: how costs and rewards are measured where no formula gives them.
//
// A [Trial] names a policy, what it is told of each node ([Trial.Told]), and how
// things really are ([Trial.Truth]). Three models say what a probe is for:
//
//   - [Queues] (P1). Items come at rate pi a step, one at most under [Bernoulli],
//     any number under [Poisson], or exactly pi under [Mean]. What is measured
//     is the cost, the mean over steps of the sum of the queues.
//   - [Interest] (P2). Items come as a Poisson process of rate lambda in
//     continuous time, the interest in each decays as w exp(-c age), and a
//     probe finds the interest that is left ([scheduler.Interest]). What is
//     measured is the reward, the interest collected a step.
//   - [Freshness]. A page of importance m changes at rate D; a copy that is a
//     steps old is fresh with probability exp(-D a). What is measured is the
//     mean of the sum of m over fresh copies.
//
// Rates are stationary, or change as [Change] says: all permuted in one step, or
// each drifting on its own as a geometric random walk that is drawn back to
// where it began.
//
// Measured costs and rewards are those of the expected queues and interest,
// given what was probed when: the noise of the items reaches them only through
// what a policy learns from it. Weights and costs of probes count as in
// [scheduler.Node.Worth]: an item is worth w/C.
//
// One step costs what the policy costs, and O(1) for each probe and for each
// rate that changes in it; a trial of 10^6 nodes is started in the steady state
// ([Trial.Steady]), so that it need not run for millions of steps before its
// figures mean something. The same Trial gives the same Outcome on the same
// machine; libraries of transcendental functions differ between machines, and a
// simulation may end otherwise there.
package sim
