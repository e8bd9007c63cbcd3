//go:build !mutants

package replay

const planted = noMutant
