//go:build !race

package thrift

// By divides the rounds of a test.
const By = 1
