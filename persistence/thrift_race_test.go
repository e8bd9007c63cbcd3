//go:build race

package persistence

// thrift is explained in thrift_test.go.
const thrift = 5
