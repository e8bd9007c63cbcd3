//go:build !mutants

package passes

const planted = noMutant
