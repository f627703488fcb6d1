# eigenwerk with everything it needs, for processors:
#
#   docker build --tag eigenwerk .
#   docker run --rm --volume "$PWD:/data" --user "$(id -u):$(id -g)" eigenwerk run DIR
#
# With PyTorch's CUDA libraries, several GB more, for NVIDIA GPUs (then `docker run --gpus all ...`):
#
#   docker build --tag eigenwerk-gpu --build-arg TORCH_INDEX=https://pypi.org/simple .
#
# The image holds gpaw-data and FFTW, which are under the GPL: who passes it on passes them on too.

FROM python:3.12-slim

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

# at run time gcc compiles functionals for the processor
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev make \
 && rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/eigenwerk/.venv/bin:$PATH PIP_NO_CACHE_DIR=1
COPY . /opt/eigenwerk
WORKDIR /data
ENTRYPOINT ["eigenwerk"]
CMD ["--help"]

# installs into /opt/eigenwerk/.venv and computes silicon: an image that cannot compute is not made
RUN cd /opt/eigenwerk && make demo PIP_ARGS="--extra-index-url $TORCH_INDEX"
