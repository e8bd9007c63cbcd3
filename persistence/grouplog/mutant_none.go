//go:build !mutants

package grouplog

const planted = noMutant
