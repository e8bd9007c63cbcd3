//go:build !race

package sim

// thrift divides the rounds of tests in which one goroutine does the same again and again
// with other numbers: under the race detector, which slows them tenfold and needs few of
// them to see every path, there are fewer.
const thrift = 1
