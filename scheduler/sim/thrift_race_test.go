//go:build race

package sim

// thrift is explained in thrift_test.go.
const thrift = 5
