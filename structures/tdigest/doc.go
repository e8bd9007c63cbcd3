// Package tdigest holds t-digests: sketches of a distribution from which quantiles and
// ranks are read, exact at the ends and close in the middle, in memory of fixed size
// (Dunning and Ertl, "Computing Extremely Accurate Quantiles Using t-Digests", 2019).
//
// A digest is centroids, which are means of neighbouring values and how many they are. New values
// are centroids of their own, in a buffer, until that is full. Then all are sorted, and
// neighbours become one as long as the result is not too heavy for its place: at quantile
// q up to about 2 pi W ln W q (1-q) / c values of W, with compression c. So centroids are
// light at the ends, where the first and the last one are single values, and
// there are about c of them.
//
// All sums and comparisons are those of RedisBloom's library in its order, so that answers are equal
// to the last bit and payloads travel both ways; products are rounded before they are added to,
// on every processor. Reading does not change a digest: what it needs is computed beside it.
package tdigest
