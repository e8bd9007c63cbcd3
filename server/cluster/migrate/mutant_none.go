//go:build !mutants

package migrate

const planted = noMutant
