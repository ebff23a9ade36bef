#include <torch/extension.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/native/Resize.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
using at::Tensor;
struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::PrivateUse1;
  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device d) const override { return d; }
  c10::Device getDevice() const override { return c10::Device(static_type, 0); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device d) const override { return c10::Stream(c10::Stream::DEFAULT, d); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);
struct Alloc final : at::Allocator {
  at::DataPtr allocate(size_t n) override {
    void* p = n ? aligned_alloc(64, (n + 63) / 64 * 64) : nullptr;
    return {p, p, &std::free, at::Device(at::DeviceType::PrivateUse1, 0)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* d, const void* s, std::size_t n) const override { memcpy(d, s, n); }
};
static Alloc alloc;
static at::DispatchKeySet keys(at::DispatchKey::PrivateUse1);
Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> t, std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> f) {
  return at::detail::empty_generic(size, &alloc, keys, c10::dtype_or_default(t), f);
}
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> t, std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &alloc, keys, c10::dtype_or_default(t));
}
Tensor as_strided(const Tensor& s, c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<int64_t> o) { return at::cpu::as_strided(s, size, stride, o); }
static Tensor on_host(const Tensor& t) {
  if (t.device().is_cpu()) return t;
  return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(at::kCPU));
}
Tensor copy_from(const Tensor& s, const Tensor& d, bool) { on_host(d).copy_(on_host(s)); return d; }
Tensor copy_from_and_resize(const Tensor& s, const Tensor& d) { if (d.numel() == 0) d.resize_(s.sizes()); on_host(d).copy_(on_host(s)); return d; }
static int reads = 0;
at::Scalar local_scalar(const Tensor& t) { ++reads; return on_host(t).item(); }
const Tensor& resize_(const Tensor& s, c10::SymIntArrayRef size, std::optional<at::MemoryFormat>) {
  return at::native::resize_(s, C10_AS_INTARRAYREF_SLOW(size));
}
Tensor& set_source(Tensor& r, at::Storage src, int64_t o, c10::IntArrayRef size, c10::IntArrayRef stride) {
  r.unsafeGetTensorImpl()->set_storage_keep_dtype(src); r.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, o); return r;
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty); m.impl("empty_strided", &empty_strided); m.impl("as_strided", &as_strided);
  m.impl("_copy_from", &copy_from); m.impl("_copy_from_and_resize", &copy_from_and_resize); m.impl("_local_scalar_dense", &local_scalar);
  m.impl("resize_", &resize_); m.impl("set_.source_Storage_storage_offset", &set_source);
  m.impl("view", at::native::view);m.impl("_reshape_alias", at::native::_reshape_alias);
}
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("reads", [] { return reads; }); at::SetAllocator(at::DeviceType::PrivateUse1, &alloc); }
