// Package study compares policies of package scheduler with published ones, on pages
// of a web: a synthetic one that every machine makes alike ([Web]), or the public
// trace of 18 million URLs ([ReadTrace]), for those who have it.
//
// The measure is the share of fresh copies, each counting by the importance of its
// page. Published policies that draw the times of their crawls, or make them in equal
// gaps, are computed: a page that changes at rate D and is crawled at rate r is fresh
// with probability r/(r+D) in the first case and (r/D)(1 - exp(-D/r)) in the second.
// Those that go by an index are played by package sim.
//
// What is compared (see [Compare]):
//
//   - crawls in proportion to change rates, and uniform ones;
//   - LambdaCrawl (Kolobov, Peres, Lu and Horvitz, NeurIPS 2019), whose rates suit an
//     objective of its own, the harmonic one;
//   - BinaryLambdaCrawl (Azar, Horvitz, Lubetzky, Peres and Shahaf, PNAS 2018), and
//     PoliteBinaryLambdaCrawl with limits of hosts (Kolobov, Peres, Lubetzky and Horvitz,
//     SIGIR 2019);
//   - GREEDY, GREEDY-CIS and GREEDY-NCIS (Busa-Fekete et al., WWW 2025): the policy
//     freshness that ignores signals, trusts them, or knows how far to trust them.
//
// The package reads what it is given and draws from seeds; it knows no files, no network
// and no clock.
package study
