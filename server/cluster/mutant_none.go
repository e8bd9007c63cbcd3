//go:build !mutants

package cluster

const planted = noMutant
