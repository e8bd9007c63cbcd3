//go:build !mutants

package member

const planted = noMutant
