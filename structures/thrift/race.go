//go:build race

package thrift

// By divides the rounds of a test: five times fewer still see every path.
const By = 5
