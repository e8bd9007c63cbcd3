//go:build race

package scheduler

// thrift is explained in thrift_test.go.
const thrift = 5
