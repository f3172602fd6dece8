// A library that is loaded while the program runs: the first of its name that suits.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hopbench::cuda {

class SharedLibrary {
 public:
  struct Search {
    std::string name;                 // for people: "cuDNN"
    std::vector<std::string> places;  // in turn; what has no '/' is looked for as the loader does
    std::string beside = {};          // a file that it needs and may not find in its own folder by itself
    bool of_one_name = false;         // for different versions of what it needs
  };
  /// `refusal` says why one does not suit ("it is for CUDA 12"); empty: it does. With `of_one_name` it is asked of a
  /// copy that shares nothing with this process, if there is room for one: what one has brought along would else answer
  /// for the next, too.
  /// Error(kEnvironment) naming all that were found, and why each does not suit.
  SharedLibrary(const Search& search, const std::function<std::string(const SharedLibrary&)>& refusal);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Sets `function`; false: there is none of that name.
  template <class F>
  bool find(F& function, const char* symbol) const {
    function = reinterpret_cast<F>(address_of(symbol));
    return function != nullptr;
  }
  std::string path() const;

 private:
  bool open(const std::string& place, const std::string& beside, bool apart);
  void* address_of(const char* symbol) const;

  void* handle_ = nullptr;  // for as long as the process lives
  std::string why_;         // nothing was opened
};

}  // namespace hopbench::cuda
