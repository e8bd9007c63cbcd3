//go:build !mutants

package commits

const planted = noMutant
